// Package param checks texts and objects that clients sent as parameters.
//
// [CheckText] limits the bytes of a text, and [CheckObject] accepts only a JSON object. If a value
// is invalid, the error is a [varve.Error] with the parameter, the problem and the remedy.
// [Alternatives] joins words for such messages. All functions are pure.
package param

import (
	"strings"
	"unicode/utf8"

	"github.com/varvedb/varve"
)

// CheckText returns an error if a text is not UTF-8, or has more bytes than the argument "most".
func CheckText(name, text string, most int) error {
	switch {
	case len(text) > most:
		return varve.InvalidParam(name, "%d bytes are too many: send at most %d", len(text), most)
	case !utf8.ValidString(text):
		return varve.InvalidParam(name, "not valid UTF-8: send UTF-8")
	}
	return nil
}

// CheckObject returns an error if a value is not a JSON object, or exceeds a limit in bytes. A value
// that is not set is allowed.
func CheckObject(name string, v varve.Value, limit int) error {
	switch {
	case v.IsZero():
		return nil
	case v.Kind() != varve.KindJSON || !strings.HasPrefix(v.Text(), "{"):
		return varve.InvalidParam(name, `not a JSON object: send an object such as {"building":"A"}`)
	case len(v.Text()) > limit:
		return varve.InvalidParam(name, "%d bytes are too many: send at most %d", len(v.Text()), limit)
	}
	return nil
}

// Alternatives joins words for an error message, as in "a, b or c".
func Alternatives[W ~string](list []W) string {
	var b strings.Builder
	for i, w := range list {
		switch {
		case i == 0:
		case i == len(list)-1:
			b.WriteString(" or ")
		default:
			b.WriteString(", ")
		}
		b.WriteString(string(w))
	}
	return b.String()
}
