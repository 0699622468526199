package decimal_test

import (
	"encoding/json"
	"errors"
	"math"
	"math/big"
	"strings"
	"testing"

	"github.com/varvedb/varve/decimal"
	"github.com/varvedb/varve/decimal/decimaltest"
	"pgregory.net/rapid"
)

// rat returns the value of n, computed from its parts.
func rat(n decimal.Number) *big.Rat {
	neg, hi, lo, exp := n.Parts()
	coefficient := new(big.Int).SetUint64(hi)
	coefficient.Lsh(coefficient, 64).Add(coefficient, new(big.Int).SetUint64(lo))
	if neg {
		coefficient.Neg(coefficient)
	}
	r := new(big.Rat).SetInt(coefficient)
	power := tenTo(max(exp, -exp))
	if exp < 0 {
		return r.Quo(r, power)
	}
	return r.Mul(r, power)
}

func tenTo(n int) *big.Rat {
	return new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil))
}

// significant counts the digits from the first to the last one that is not 0.
func significant(text string) int {
	text, _, _ = strings.Cut(strings.ToLower(strings.TrimPrefix(text, "-")), "e")
	return len(strings.Trim(strings.Replace(text, ".", "", 1), "0"))
}

// outOfRange reports whether a number other than 0 is too large or too small for a Number.
func outOfRange(r *big.Rat) bool {
	abs := new(big.Rat).Abs(r)
	tiny := new(big.Rat).Inv(tenTo(-decimal.MinExponent))
	return abs.Sign() != 0 && (abs.Cmp(tenTo(decimal.MaxExponent+1)) >= 0 || abs.Cmp(tiny) < 0)
}

// TestParse_AgreesWithBig checks that Parse accepts exactly the decimals of at most 38 digits in
// range, and returns the same value as math/big.
func TestParse_AgreesWithBig(t *testing.T) {
	checkMany(t, func(t *rapid.T) {
		checkNumber(t, decimaltest.Text().Draw(t, "text"))
	})
}

func checkNumber(t tb, text string) {
	t.Helper()
	want := decimaltest.Rat(t, text)
	n, err := decimal.Parse(text)
	precise, ranged := significant(text) <= decimal.MaxDigits, !outOfRange(want)
	if !precise || !ranged {
		if !(errors.Is(err, decimal.ErrPrecision) && !precise) && !(errors.Is(err, decimal.ErrRange) && !ranged) {
			t.Fatalf("%s: got %s, %v; 38 digits: %t, in range: %t", text, n, err, precise, ranged)
		}
		return
	}
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	if rat(n).Cmp(want) != 0 {
		t.Fatalf("%s is read as %s", text, rat(n))
	}
	if n.IsZero() != (want.Sign() == 0) {
		t.Fatalf("%s: IsZero is %t", text, n.IsZero())
	}
	if nearest, _ := want.Float64(); n.Float64() != nearest {
		t.Fatalf("%s: Float64 is %g, want %g", text, n.Float64(), nearest)
	}
	checkText(t, n)
	checkCanonical(t, n)
}

// checkText checks that the text of n is a JSON number. Parsing the text must return a number with
// the same value and text.
func checkText(t tb, n decimal.Number) {
	t.Helper()
	text := n.String()
	if !json.Valid([]byte(text)) || strings.HasPrefix(text, "-") && n.IsZero() {
		t.Fatalf("%q is not a number in JSON", text)
	}
	back := number(t, text)
	if !back.Equal(n) || back.String() != text || rat(n).Cmp(decimaltest.Rat(t, text)) != 0 {
		t.Fatalf("%s reads back as %s", text, back)
	}
}

// checkCanonical checks that the canonical form of n has the same value and no trailing zero.
func checkCanonical(t tb, n decimal.Number) {
	t.Helper()
	c := n.Canonical()
	if rat(c).Cmp(rat(n)) != 0 || !c.Equal(n) || !n.Equal(c) || c.Compare(n) != 0 || c.Canonical() != c {
		t.Fatalf("%s has the canonical form %s", n, c)
	}
	neg, hi, lo, exp := c.Parts()
	if n.IsZero() {
		if neg || exp != 0 {
			t.Fatalf("zero has the canonical form %t, %d", neg, exp)
		}
		return
	}
	coefficient := new(big.Int).SetUint64(hi)
	coefficient.Lsh(coefficient, 64).Add(coefficient, new(big.Int).SetUint64(lo))
	if strings.HasSuffix(coefficient.String(), "0") {
		t.Fatalf("%s has a canonical coefficient of %s", n, coefficient)
	}
}

// genNear generates numbers that equal n or differ from it a little.
func genNear(n decimal.Number) *rapid.Generator[decimal.Number] {
	return rapid.Custom(func(t *rapid.T) decimal.Number {
		neg, hi, lo, exp := n.Parts()
		switch rapid.IntRange(0, 4).Draw(t, "near") {
		case 0: // the same number in another form
			if shorter := n.Canonical(); shorter != n {
				return shorter
			}
			if hi == 0 && lo < math.MaxUint64/10 {
				lo, exp = lo*10, exp-1
			}
		case 1:
			neg = !neg
		case 2:
			lo++
		case 3:
			lo--
		case 4:
			exp++
		}
		m, err := decimal.New(neg, hi, lo, exp)
		if err != nil {
			return n
		}
		return m
	})
}

func TestCompare_AgreesWithBig(t *testing.T) {
	checkMany(t, func(t *rapid.T) {
		n := decimaltest.Number().Draw(t, "n")
		m := rapid.OneOf(genNear(n), decimaltest.Number()).Draw(t, "m")
		want := rat(n).Cmp(rat(m))
		if got := n.Compare(m); got != want {
			t.Fatalf("Compare(%s, %s) is %d, want %d", n, m, got, want)
		}
		if got := m.Compare(n); got != -want {
			t.Fatalf("Compare(%s, %s) is %d, want %d", m, n, got, -want)
		}
		if got := n.Equal(m); got != (want == 0) {
			t.Fatalf("Equal(%s, %s) is %t", n, m, got)
		}
		if got := n.Canonical() == m.Canonical(); got != (want == 0) {
			t.Fatalf("the canonical forms of %s and %s: == is %t", n, m, got)
		}
	})
}

// TestNumber_KeepsNotation checks that parsing a decimal without an exponent and printing it
// returns the same text. Only a zero loses its minus sign.
func TestNumber_KeepsNotation(t *testing.T) {
	gen := rapid.OneOf(
		rapid.StringMatching(`-?(0|[1-9][0-9]{0,18})(\.[0-9]{1,19})?`),
		rapid.StringMatching(`-?[1-9][0-9]{0,37}`),
		rapid.StringMatching(`-?0\.[0-9]{1,38}`),
		rapid.StringMatching(`-?[1-9]\.[0-9]{30,37}`),
	)
	checkMany(t, func(t *rapid.T) {
		text := gen.Draw(t, "text")
		want := text
		if strings.Trim(text, "-0.") == "" {
			want = strings.TrimPrefix(text, "-")
		}
		if got := number(t, text).String(); got != want {
			t.Fatalf("%s is written %s", text, got)
		}
	})
}

func FuzzParseNumber(f *testing.F) {
	for _, seed := range []string{"0", "-0.0", "42.0", "1e126", "1e-131", "1e-130", nines(38), nines(39), "-", "01", "1.", "NaN", "1" + zeros(40) + "." + zeros(9), "0." + zeros(40) + "1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := decimal.Parse(text); errors.Is(err, decimal.ErrSyntax) {
			if json.Valid([]byte(text)) && strings.Trim(text, "-+.eE0123456789") == "" {
				t.Fatalf("%s is a number in JSON: %v", text, err)
			}
			return
		}
		if !json.Valid([]byte(text)) {
			t.Fatalf("%q is no number in JSON", text)
		}
		if _, exp, _ := strings.Cut(strings.ToLower(text), "e"); len(exp) > 5 {
			return // math/big is too slow with such a large exponent
		}
		checkNumber(t, text)
	})
}
