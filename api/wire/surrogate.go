package wire

import (
	"bytes"
	"errors"
	"strconv"
	"unicode/utf16"
)

// errSurrogate: half a character is no text. The decoder puts U+FFFD in its
// place, and two different readings would become one.
var errSurrogate = errors.New(`half of a surrogate pair, as in "\ud800" alone, is no character`)

// unpaired reports whether a JSON text has a string with an escaped surrogate
// that is not half of a pair.
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

// escaped reads what a text begins with if that is \uXXXX.
func escaped(text []byte) (rune, bool) {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(text[2:6]), 16, 16)
	return rune(n), err == nil
}

// spoilt reports whether a string of an object came out of it other than it
// was sent.
func (o *object) spoilt(s []byte) bool { return o.unpaired && bytes.Contains(s, []byte("\ufffd")) }
