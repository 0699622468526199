// Package quote shortens and quotes text that clients sent, for messages.
package quote

import (
	"strconv"
	"unicode/utf8"
)

// Max is how many bytes [Text] shows.
const Max = 40

// Text quotes s as a Go string, cut after Max bytes at most, between characters.
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
