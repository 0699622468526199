package decimal_test

import (
	"math"
	"testing"

	"github.com/varvedb/varve/decimal"
)

// TestShort_AgreesWithNumber compares the text and the canonical form of Short with Number. A
// Short may be zero, except for numbers of up to six digits with up to five decimals.
func TestShort_AgreesWithNumber(t *testing.T) {
	for _, exp := range []int{-100, -17, -16, -15, -7, -6, -5, -4, -3, -2, -1, 0, 1, 15, 16, 100} {
		for c := int64(-20_000); c < 20_000; c++ {
			for _, factor := range []int64{1, 49, 50, 997, 1000} {
				checkShort(t, c*factor, exp)
			}
		}
		for _, c := range []int64{math.MinInt64, math.MinInt64 + 1, -1 << 32, 1 << 32, math.MaxInt64} {
			checkShort(t, c, exp)
		}
	}
}

func checkShort(t *testing.T, coefficient int64, exp int) {
	t.Helper()
	n := decimal.FromScaled(coefficient, exp)
	common := -1e6 < coefficient && coefficient < 1e6 && -5 <= exp && exp <= 0
	if s := decimal.ShortText(coefficient, exp); s.IsZero() && common || !s.IsZero() && string(s.AppendTo(nil)) != n.String() {
		t.Fatalf("%d, exponent %d: text %q, want %s", coefficient, exp, s.AppendTo(nil), n)
	}
	want := string(n.AppendCanonical(nil))
	if s := decimal.ShortCanonical(coefficient, exp); s.IsZero() && common || !s.IsZero() && string(s.AppendTo(nil)) != want {
		t.Fatalf("%d, exponent %d: form %x, want %x", coefficient, exp, s.AppendTo(nil), want)
	}
}
