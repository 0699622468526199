package value_test

import (
	"fmt"
	"math/big"
	"strings"
	"testing"

	"github.com/varvedb/varve/tests/dynamosim/value"
	"pgregory.net/rapid"
)

// number draws the text of a number in any notation that DynamoDB accepts.
func number(t *rapid.T, label string) string {
	digits := rapid.StringMatching(`[0-9]{1,19}(\.[0-9]{0,19})?`).Draw(t, label)
	sign := rapid.SampledFrom([]string{"", "-", "+"}).Draw(t, label+" sign")
	if e := rapid.IntRange(-80, 80).Draw(t, label+" exponent"); e != 0 {
		return fmt.Sprintf("%s%se%d", sign, digits, e)
	}
	return sign + digits
}

func rational(t *rapid.T, text string) *big.Rat {
	r, ok := new(big.Rat).SetString(strings.TrimPrefix(text, "+"))
	if !ok {
		t.Fatalf("%q is not a number", text)
	}
	return r
}

// TestParseNumber_KeepsValueAndOrder compares numbers with rational numbers. The canonical form must
// have the same value, and equal numbers must have the same form. Sort keys must be in the order of the
// values.
func TestParseNumber_KeepsValueAndOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x, y := number(t, "x"), number(t, "y")
		a, err := value.ParseNumber(x)
		if err != nil {
			t.Fatalf("%s: %s", x, err)
		}
		b, err := value.ParseNumber(y)
		if err != nil {
			t.Fatalf("%s: %s", y, err)
		}
		want := rational(t, x).Cmp(rational(t, y))
		if rational(t, a).Cmp(rational(t, x)) != 0 {
			t.Errorf("%s became %s", x, a)
		}
		if (a == b) != (want == 0) {
			t.Errorf("%s and %s became %s and %s", x, y, a, b)
		}
		v, w := value.Value{Kind: value.Number, Text: a}, value.Value{Kind: value.Number, Text: b}
		if got := strings.Compare(v.SortKey(), w.SortKey()); got != want {
			t.Errorf("keys of %s and %s compare as %d, want %d", a, b, got, want)
		}
	})
}

// TestPlus_AddsExactly compares sums and differences of integers with Go's arithmetic.
func TestPlus_AddsExactly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x, y := rapid.Int64Range(-1e17, 1e17).Draw(t, "x"), rapid.Int64Range(-1e17, 1e17).Draw(t, "y")
		minus := rapid.Bool().Draw(t, "minus")
		want := x + y
		if minus {
			want = x - y
		}
		if got, err := value.Plus(fmt.Sprint(x), fmt.Sprint(y), minus); err != nil || got != fmt.Sprint(want) {
			t.Errorf("%d and %d: %s, %v, want %d", x, y, got, err, want)
		}
	})
}

func TestSize_FollowsAmazonsRules(t *testing.T) {
	for text, want := range map[string]int{"0": 1, "1": 2, "12": 2, "123": 3, "-12": 3, "100": 2, "0.5": 2, "12345678901234567890123456789012345678": 20} {
		v := value.Value{Kind: value.Number, Text: text}
		if got := v.Size(); got != want {
			t.Errorf("number %s: %d bytes, want %d", text, got, want)
		}
	}
	list := value.Value{Kind: value.List, Elems: []value.Value{{Kind: value.String, Text: "ab"}, {Kind: value.Null}}}
	if got := list.Size(); got != 3+2+2+1 {
		t.Errorf("list: %d bytes, want 3 of its own, 2 of elements and 3 of values", got)
	}
	it := value.Item{{Name: "é", Value: value.Value{Kind: value.Bool}}, {Name: "m", Value: value.Value{Kind: value.Map, Fields: value.Item{{Name: "x", Value: list}}}}}
	if got := it.Size(); got != 2+1+1+3+1+1+8 {
		t.Errorf("item: %d bytes, want 17", got)
	}
}
