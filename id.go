package varve

import (
	"cmp"
	"encoding/binary"
	"fmt"

	"github.com/cespare/xxhash/v2"

	"github.com/varvedb/varve/decimal"
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

// idAlphabet has the 64 characters of a hash's text, in ascending order of their bytes. So texts
// sort in the order of their hashes.
const idAlphabet = "-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz"

const hashTextLen = 11 // 11 characters encode 66 bits; the first one encodes only the top 4 bits of the hash

var idDigits = func() (d [256]int8) {
	for i := range d {
		d[i] = -1
	}
	for i := range len(idAlphabet) {
		d[idAlphabet[i]] = int8(i)
	}
	return d
}()

// HashID returns the id with the given hash.
func HashID(hash uint64) ID { return ID{hash: hash, set: true} }

// ParseID returns the id with the given text. A valid text is 1 to 64 bytes of printable UTF-8, with no
// space at either end.
//
// If the text has the form of a hash, ParseID returns the id with that hash. So a reading that is
// exported with its id and resent has the same identity.
func ParseID(text string) (ID, error) {
	if why := printable.Problem(text, MaxIDBytes); why != "" {
		return ID{}, fmt.Errorf("id %s %s", quote.Text(text), why)
	}
	if h, ok := parseHash(text); ok {
		return HashID(h), nil
	}
	return ID{text: text, set: true}, nil
}

func parseHash(text string) (hash uint64, ok bool) {
	if len(text) != hashTextLen || idDigits[text[0]] >= 16 {
		return 0, false
	}
	for i := range len(text) {
		d := idDigits[text[i]]
		if d < 0 {
			return 0, false
		}
		hash = hash<<6 | uint64(d)
	}
	return hash, true
}

// IsZero reports whether the id is not set.
func (id ID) IsZero() bool { return !id.set }

// Hash returns the hash of the id. It returns false if the id is not set, has a version, or is a text that does
// not have the form of a hash.
func (id ID) Hash() (hash uint64, ok bool) {
	return id.hash, id.set && id.text == "" && id.version == 0
}

// String returns the text of the id without its version, or "" if the id is not set.
func (id ID) String() string {
	if id.text != "" || !id.set {
		return id.text
	}
	var text [hashTextLen]byte
	return string(id.Append(text[:0]))
}

// Append appends the text of the id, without its version, to dst.
func (id ID) Append(dst []byte) []byte {
	if id.text != "" || !id.set {
		return append(dst, id.text...)
	}
	// Append placeholders, and write the digits over them. To write the digits elsewhere and to copy them
	// would be slower.
	dst = append(dst, "-----------"...)
	text := dst[len(dst)-hashTextLen:]
	hash := id.hash
	for i := hashTextLen - 1; i >= 0; i-- {
		text[i] = idAlphabet[hash&63]
		hash >>= 6
	}
	return dst
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
	var a, b [hashTextLen]byte
	if order := cmp.Compare(string(id.Append(a[:0])), string(other.Append(b[:0]))); order != 0 {
		return order
	}
	return cmp.Compare(id.version, other.version)
}

func (id ID) size() int {
	if id.text != "" {
		return len(id.text)
	}
	return hashTextLen
}

// HasOwnID reports whether the id differs from the content id. The id must be set.
func (r *Reading) HasOwnID() bool { return r.ID != r.ContentID() }

// ContentID returns the id of a reading that was sent without one.
//
// It is the XXH64 hash of the fields in canonical form. Fields must be sorted by name. A field's
// canonical form consists of the length and bytes of its name, a tag for the kind, and the value:
//
//   - number: sign and exponent (zigzag varint of twice the exponent plus sign), then the
//     coefficient without trailing zeros (varints of the low and high 64 bits)
//   - string or JSON: length and bytes
//   - boolean: only the tag
//
// Lengths and tags separate {a:"1",b:"23"} from {a:"12",b:"3"}. docs/data-model.md has test
// vectors.
func (r *Reading) ContentID() ID {
	var buf [256]byte
	form := buf[:0]
	for i := range r.Fields {
		form = appendCanonicalField(form, &r.Fields[i])
	}
	return ContentIDOf(form)
}

const (
	tagNumber = 'n'
	tagString = 's'
	tagTrue   = 't'
	tagFalse  = 'f'
	tagJSON   = 'j'
)

func appendCanonicalField(dst []byte, f *Field) []byte {
	dst = AppendCanonicalName(dst, f.Name)
	if f.Value.kind == KindNumber {
		return AppendCanonicalNumber(dst, f.Value.num)
	}
	return AppendCanonicalValue(dst, f.Value)
}

// AppendCanonicalName appends the canonical form of a field's name. The caller appends the value
// after it.
func AppendCanonicalName(dst []byte, name string) []byte {
	if len(name) < 0x80 {
		dst = append(dst, byte(len(name)))
	} else {
		dst = binary.AppendUvarint(dst, uint64(len(name)))
	}
	return append(dst, name...)
}

// AppendCanonicalNumber appends the canonical form of a number.
func AppendCanonicalNumber(dst []byte, n Number) []byte {
	return n.AppendCanonical(append(dst, tagNumber))
}

// AppendCanonicalScaled appends the canonical form of decimal.FromScaled(coefficient, exp).
func AppendCanonicalScaled(dst []byte, coefficient int64, exp int) []byte {
	return decimal.AppendCanonicalScaled(append(dst, tagNumber), coefficient, exp)
}

// AppendCanonicalValue appends the canonical form of a value.
func AppendCanonicalValue(dst []byte, v Value) []byte {
	switch v.kind {
	case KindNumber:
		return AppendCanonicalNumber(dst, v.num)
	case KindBool:
		if v.Bool() {
			return append(dst, tagTrue)
		}
		return append(dst, tagFalse)
	case KindString:
		dst = append(dst, tagString)
	case KindJSON:
		dst = append(dst, tagJSON)
	}
	dst = binary.AppendUvarint(dst, uint64(len(v.text)))
	return append(dst, v.text...)
}

// ContentIDOf returns the content id of a reading whose fields have the given canonical form.
func ContentIDOf(form []byte) ID { return HashID(xxhash.Sum64(form)) }
