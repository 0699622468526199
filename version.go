package varve

import (
	"fmt"
	"strconv"
	"strings"
)

// versionMark separates the text of an id from its version in a key. Texts of ids cannot contain
// this byte, and it sorts before all their characters. So the keys of an id's versions are adjacent
// in sorted order.
const versionMark = '\x1f'

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

// AppendKey appends the key of the id to dst.
//
// A version is written as the mark 0x1f, one character for the number of its digits, and its
// decimal digits. The character is '0' plus that number. So keys sort like ids.
func (id ID) AppendKey(dst []byte) []byte {
	dst = id.Append(dst)
	if id.version == 0 {
		return dst
	}
	dst = append(dst, versionMark, '0')
	at := len(dst)
	dst = strconv.AppendUint(dst, uint64(id.version), 10)
	dst[at-1] += byte(len(dst) - at)
	return dst
}

// ParseKey parses the result of Key.
func ParseKey(key string) (ID, error) {
	at := strings.IndexByte(key, versionMark)
	if at < 0 {
		return ParseID(key)
	}
	id, err := ParseID(key[:at])
	if err != nil {
		return ID{}, err
	}
	version, err := strconv.ParseUint(key[min(at+2, len(key)):], 10, 31)
	if err != nil || version == 0 || id.WithVersion(uint32(version)).Key() != key {
		return ID{}, fmt.Errorf("key %.80q has a malformed version", key)
	}
	return id.WithVersion(uint32(version)), nil
}

// IsVersionOf reports whether two positions differ at most in the versions of their ids.
func (p Position) IsVersionOf(q Position) bool { return p.Time == q.Time && p.ID.IsVersionOf(q.ID) }

// AfterVersions returns a position that no version of the reading follows in the given order. A
// read that continues after this position returns none of these versions.
func (p Position) AfterVersions(o Order) Position {
	p.ID.version = 0
	if o == Ascending {
		p.ID.version = 1<<32 - 1
	}
	return p
}
