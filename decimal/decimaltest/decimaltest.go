// Package decimaltest generates decimal numbers for property tests.
//
// [Text] generates texts inside and outside the range of a number, many of them near the limits.
// [Number] generates numbers in the range, and [Rat] parses a text with math/big, as the model. If
// a text cannot be parsed, the test fails.
package decimaltest

import (
	"math/big"

	"pgregory.net/rapid"

	"github.com/varvedb/varve/decimal"
)

// Text generates texts of numbers inside and outside the range of a Number. Many are near the
// limits.
func Text() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.StringMatching(`-?(0|[1-9][0-9]{0,4})(\.[0-9]{1,4})?`),
		rapid.StringMatching(`-?(0|[1-9][0-9]{0,24})(\.[0-9]{1,24})?([eE][+-]?[0-9]{1,3})?`),
		rapid.StringMatching(`-?[1-9][0-9]{36,38}(e-?[0-9]{1,2})?`),
		rapid.StringMatching(`-?[1-9]0{10,45}[0-9]?(\.0{1,30})?`),
		rapid.StringMatching(`-?0\.0{0,60}[0-9]{1,39}(e[0-9]{1,2})?`),
		rapid.StringMatching(`-?[0-9](\.[0-9]{1,3})?e(-1[23][0-9]|12[0-9])`),
	)
}

// Number generates numbers in the range of a Number.
func Number() *rapid.Generator[decimal.Number] {
	return rapid.Custom(func(t *rapid.T) decimal.Number {
		text := Text().Filter(func(text string) bool {
			_, err := decimal.Parse(text)
			return err == nil
		}).Draw(t, "text")
		n, err := decimal.Parse(text)
		if err != nil {
			t.Fatalf("number %s: %v", text, err)
		}
		return n
	})
}

// Rat parses a text with math/big.
func Rat(t interface {
	Helper()
	Fatalf(format string, args ...any)
}, text string) *big.Rat {
	t.Helper()
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		t.Fatalf("math/big cannot read %s", text)
	}
	return r
}
