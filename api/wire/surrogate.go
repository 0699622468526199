package wire

import (
	"bytes"
	"errors"
	"strconv"
	"unicode/utf16"
)

// errSurrogate rejects half of a surrogate pair. The decoder replaces such a half with U+FFFD, so two
// distinct readings could become equal.
var errSurrogate = errors.New(`half of a surrogate pair, as in "\ud800" alone, is not a character`)

// unpaired reports whether a JSON text contains an escape of half a surrogate pair without the other
// half.
func unpaired(text []byte) bool {
	for {
		i := bytes.IndexByte(text, '\\')
		if i < 0 || i+1 >= len(text) {
			return false
		}
		text = text[i:]
		r, ok := escaped(text)
		switch {
		case !ok:
			text = text[2:]
		case !utf16.IsSurrogate(r):
			text = text[6:]
		default:
			low, ok := escaped(text[6:])
			if !ok || utf16.DecodeRune(r, low) == '\ufffd' {
				return true
			}
			text = text[12:]
		}
	}
}

// escaped parses an escape \uXXXX at the beginning of a text.
func escaped(text []byte) (rune, bool) {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(text[2:6]), 16, 16)
	return rune(n), err == nil
}

// spoilt reports whether the decoder may have replaced a surrogate in a string of the object.
func (o *object) spoilt(s []byte) bool { return o.unpaired && bytes.Contains(s, []byte("\ufffd")) }
