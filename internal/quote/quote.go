// Package quote shortens and quotes text from clients for messages.
package quote

import (
	"strconv"
	"unicode/utf8"
)

// Max is the number of bytes that [Text] shows.
const Max = 40

// Text returns s as a quoted Go string of at most Max bytes, cut between characters.
func Text(s string) string {
	if len(s) <= Max {
		return strconv.Quote(s)
	}
	end := Max
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return strconv.Quote(s[:end]) + "…"
}
