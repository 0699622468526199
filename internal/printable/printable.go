// Package printable checks that names consist of characters that can be shown.
//
//   - [Problem] checks a name of printable UTF-8, and [FieldProblem] the name of a field.
//   - [CheckName] checks a name that occurs in URLs, so only some ASCII characters are valid.
//   - [IsASCII] is a fast check that most valid names pass.
//
// An invalid name gives a text or an error with the reason. An error of CheckName quotes and
// shortens the name, so it is always printable. All functions are pure.
package printable

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/varvedb/varve/internal/quote"
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

// Problem returns the reason for which a name is invalid, or "" for a valid name. A valid name has at
// least one byte and at most "limit" bytes of printable UTF-8, with no space at either end.
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

// FieldProblem returns the reason for which the name of a field is invalid, or "" for a valid name.
func FieldProblem(name string, limit int) string {
	if strings.HasPrefix(name, "_") {
		return "begins with _, which is reserved"
	}
	return Problem(name, limit)
}

// CheckName checks a name that may occur in a URL. A valid name consists of ASCII letters, digits, dots,
// underscores and hyphens, at most "limit" of them, and begins with a letter or digit. The parameter
// "what" is the kind of the name for the error message.
func CheckName(what, name string, limit int) error {
	switch {
	case name == "":
		return fmt.Errorf("%s is empty", what)
	case len(name) > limit:
		return fmt.Errorf("%s %s has %d bytes, the limit is %d", what, quote.Text(name), len(name), limit)
	}
	for i := range len(name) {
		c := name[i]
		alnum := c-'0' <= 9 || c|0x20-'a' < 26
		if !alnum && (i == 0 || !strings.ContainsRune("._-", rune(c))) {
			return fmt.Errorf("%s %s: use letters, digits, . _ - and begin with a letter or digit", what, quote.Text(name))
		}
	}
	return nil
}
