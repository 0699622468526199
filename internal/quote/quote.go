// Package quote shortens and quotes text from clients for messages.
//
// [Text] returns a quoted Go string of at most [Max] bytes of the text, and [Cut] only shortens.
// Both cut between characters, so valid UTF-8 stays valid. Neither can fail, and both are safe for
// concurrent use.
package quote

import (
	"strconv"
	"unicode/utf8"
)

// Max is the largest number of bytes of the original text that [Text] returns.
const Max = 40

// Text returns s as a quoted Go string. It cuts s after at most Max bytes, between characters.
func Text(s string) string {
	if len(s) <= Max {
		return strconv.Quote(s)
	}
	return strconv.Quote(Cut(s, Max)) + "…"
}

// Cut returns the first bytes of s, at most n. It cuts between characters.
func Cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
