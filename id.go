package varve

import (
	"cmp"
	"fmt"

	"github.com/varvedb/varve/internal/contentid"
	"github.com/varvedb/varve/internal/idtext"
	"github.com/varvedb/varve/internal/printable"
	"github.com/varvedb/varve/internal/quote"
)

// ID separates the readings of one series and event time.
//
// The id is either the text that a client chose, or a 64-bit hash of the reading's fields. A hash
// is written as a text of 11 characters. These texts sort in the order of the hashes. IDs are
// comparable with ==. The zero ID means that no id is set.
//
// A correction has the same text or hash as the corrected reading, and a version. Ids with
// different versions are not equal.
type ID struct {
	text    string
	hash    uint64
	version uint32
	set     bool
}

// MaxVersion is the highest version of a reading.
const MaxVersion = 1<<31 - 1

// HashID returns the id with the given hash.
func HashID(hash uint64) ID { return ID{hash: hash, set: true} }

// ParseID returns the id with the given text. The text must have 1 to 64 bytes of printable UTF-8,
// with no space at either end.
//
// If the text has the form of a hash, ParseID returns the id with that hash. So a reading that is
// exported with its id and resent has the same identity.
func ParseID(text string) (ID, error) {
	if why := printable.Problem(text, MaxIDBytes); why != "" {
		return ID{}, fmt.Errorf("id %s %s", quote.Text(text), why)
	}
	if h, ok := idtext.ParseHash(text); ok {
		return HashID(h), nil
	}
	return ID{text: text, set: true}, nil
}

// IsZero reports whether the id is not set.
func (id ID) IsZero() bool { return !id.set }

// Hash returns the hash of the id. It returns false if the id is not set, has a version, or is a
// text that does not have the form of a hash.
func (id ID) Hash() (hash uint64, ok bool) {
	return id.hash, id.set && id.text == "" && id.version == 0
}

// String returns the text of the id without its version, or "" if the id is not set.
func (id ID) String() string {
	if id.text != "" || !id.set {
		return id.text
	}
	var text [idtext.HashLen]byte
	return string(id.Append(text[:0]))
}

// Append appends the text of the id, without its version, to dst.
func (id ID) Append(dst []byte) []byte {
	if id.text != "" || !id.set {
		return append(dst, id.text...)
	}
	return idtext.AppendHash(dst, id.hash)
}

// Compare orders ids by the bytes of their text, then by version. The zero ID is first. The results
// of Key sort in the same order.
func (id ID) Compare(other ID) int {
	if id.text == "" && other.text == "" && id.set && other.set {
		if id.hash == other.hash {
			return cmp.Compare(id.version, other.version)
		}
		return cmp.Compare(id.hash, other.hash)
	}
	var a, b [idtext.HashLen]byte
	if order := cmp.Compare(string(id.Append(a[:0])), string(other.Append(b[:0]))); order != 0 {
		return order
	}
	return cmp.Compare(id.version, other.version)
}

func (id ID) size() int {
	if id.text != "" {
		return len(id.text)
	}
	return idtext.HashLen
}

// Version returns the version of a correction. 0 means the original reading.
func (id ID) Version() uint32 { return id.version }

// WithVersion returns the id with another version. It must not be called on the zero ID.
func (id ID) WithVersion(version uint32) ID {
	id.version = version
	return id
}

// IsVersionOf reports whether two ids differ at most in their versions.
func (id ID) IsVersionOf(other ID) bool {
	other.version = id.version
	return id == other
}

// Key returns the form in which an id is stored: its text, and the version if it is not 0.
func (id ID) Key() string {
	if id.version == 0 {
		return id.String()
	}
	return string(id.AppendKey(nil))
}

// AppendKey appends the key of the id to dst. Keys sort like ids.
func (id ID) AppendKey(dst []byte) []byte {
	dst = id.Append(dst)
	if id.version == 0 {
		return dst
	}
	return idtext.AppendVersion(dst, id.version)
}

// ParseKey parses the result of Key.
func ParseKey(key string) (ID, error) {
	text, version, ok := idtext.CutVersion(key)
	if !ok {
		return ID{}, fmt.Errorf("key %.80q has a malformed version", key)
	}
	id, err := ParseID(text)
	if err != nil || version == 0 {
		return id, err
	}
	return id.WithVersion(version), nil
}

// HasOwnID reports whether the id differs from the content id. The id must be set.
func (r *Reading) HasOwnID() bool { return r.ID != r.ContentID() }

// ContentID returns the id of a reading that was sent without one. Fields must be sorted by name.
//
// It is the XXH64 hash of the fields in canonical form: see the package internal/contentid.
func (r *Reading) ContentID() ID {
	var buf [256]byte
	form := buf[:0]
	for i := range r.Fields {
		form = AppendCanonicalValue(contentid.AppendName(form, r.Fields[i].Name), r.Fields[i].Value)
	}
	return HashID(contentid.Hash(form))
}

// AppendCanonicalValue appends the canonical form of a value, from which content ids are computed.
func AppendCanonicalValue(dst []byte, v Value) []byte {
	switch v.kind {
	case KindNumber:
		return contentid.AppendNumber(dst, v.num)
	case KindBool:
		return contentid.AppendBool(dst, v.Bool())
	case KindJSON:
		return contentid.AppendJSON(dst, v.text)
	case KindString:
	}
	return contentid.AppendString(dst, v.text)
}
