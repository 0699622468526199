// Package printable checks that names consist of characters that can be shown.
package printable

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// IsASCII reports whether s is not empty and consists of visible ASCII. It is the fast path
// for most names.
func IsASCII(s string) bool {
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c >= 0x7f {
			return false
		}
	}
	return s != ""
}

// Problem returns the problem of a name, or "". A valid name has 1 to limit bytes of
// printable UTF-8, without outer space.
func Problem(s string, limit int) string {
	switch {
	case s == "":
		return "is empty"
	case len(s) > limit:
		return fmt.Sprintf("has %d bytes, the limit is %d", len(s), limit)
	case IsASCII(s):
		return ""
	case !utf8.ValidString(s):
		return "is not valid UTF-8"
	case strings.TrimSpace(s) != s:
		return "has space around it"
	case strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }):
		return "has a character that cannot be printed"
	}
	return ""
}
