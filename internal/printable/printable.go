// Package printable checks that names consist of characters that can be shown.
package printable

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// IsASCII reports whether s is not empty and has only visible ASCII characters. Most names have
// only such characters, and need no slower check.
func IsASCII(s string) bool {
	for i := range len(s) {
		if c := s[i]; c <= ' ' || c >= 0x7f {
			return false
		}
	}
	return s != ""
}

// Problem returns the reason for which a name is invalid, or "" for a valid name. A valid name has
// 1 to limit bytes of printable UTF-8, with no space at either end.
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
