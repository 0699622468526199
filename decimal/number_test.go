package decimal_test

import (
	"errors"
	"math"
	"testing"

	"github.com/varvedb/varve/decimal"
	"github.com/varvedb/varve/decimal/decimaltest"
	"pgregory.net/rapid"
)

func TestEqual_IgnoresScale(t *testing.T) {
	same := []string{"42", "42.0", "4.2e1", "42.000000000000000000000000000000000000", "420e-1", "4200000000000000000000000000000000000000e-38"}
	for _, a := range same {
		for _, b := range same {
			n, m := number(t, a), number(t, b)
			if !n.Equal(m) || n.Compare(m) != 0 || n.Canonical() != m.Canonical() {
				t.Errorf("%s and %s are not equal", a, b)
			}
		}
	}
	if number(t, "42").Equal(number(t, "-42")) || number(t, "42").Equal(number(t, "42.00000000000000000000000000000000001")) {
		t.Error("different numbers are equal")
	}
}

func TestNew_ChecksRangeAndPrecision(t *testing.T) {
	const big38hi, big38lo = 0x4b3b4ca85a86c47a, 0x098a223fffffffff // 10^38 - 1
	tests := []struct {
		reason string
		neg    bool
		hi, lo uint64
		exp    int
		want   string
		err    error
	}{
		{"an integer", false, 0, 42, 0, "42", nil},
		{"decimals", true, 0, 420, -1, "-42.0", nil},
		{"zero is never negative", true, 0, 0, 0, "0", nil},
		{"zero has no positive exponent", false, 0, 0, 7, "0", nil},
		{"zero keeps its decimals", false, 0, 0, -2, "0.00", nil},
		{"zero of any exponent", false, 0, 0, math.MinInt, "0." + zeros(38), nil},
		{"38 digits", false, big38hi, big38lo, 0, nines(38), nil},
		{"39 digits that end in zero", false, big38hi, big38lo + 1, 0, "1" + zeros(38), nil},
		{"39 digits", false, big38hi, big38lo + 2, 0, "", decimal.ErrPrecision},
		{"all bits set", false, math.MaxUint64, math.MaxUint64, 0, "", decimal.ErrPrecision},
		{"the largest exponent", false, 0, 1, decimal.MaxExponent, "1e125", nil},
		{"one more", false, 0, 1, decimal.MaxExponent + 1, "", decimal.ErrRange},
		{"the exponent counts from the first digit", false, 0, 10, decimal.MaxExponent, "", decimal.ErrRange},
		{"the smallest exponent", false, 0, 1, decimal.MinExponent, "1e-130", nil},
		{"one less", false, 0, 1, decimal.MinExponent - 1, "", decimal.ErrRange},
		{"one less, with two digits", false, 0, 10, decimal.MinExponent - 1, "1.0e-130", nil},
		{"no exponent is too large to refuse", false, 0, 1, math.MaxInt, "", decimal.ErrRange},
		{"39 digits and the largest int", false, big38hi, big38lo + 1, math.MaxInt, "", decimal.ErrRange},
		{"the smallest int", false, 0, 1, math.MinInt, "", decimal.ErrRange},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			n, err := decimal.New(tt.neg, tt.hi, tt.lo, tt.exp)
			if !errors.Is(err, tt.err) || err == nil && n.String() != tt.want {
				t.Errorf("got %s, %v, want %s, %v", n, err, tt.want, tt.err)
			}
		})
	}
}

// TestParts_RebuildNumber checks that New makes an equal number from the parts of a number.
func TestParts_RebuildNumber(t *testing.T) {
	checkMany(t, func(t *rapid.T) {
		n := decimaltest.Number().Draw(t, "n")
		if m, err := decimal.New(n.Parts()); err != nil || m != n {
			t.Fatalf("%s becomes %s, %v", n, m, err)
		}
	})
}

func TestFromInt_IsExact(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0", 1: "1", -1: "-1", 10: "10", 1e18: "1" + zeros(18),
		math.MaxInt64: "9223372036854775807", math.MinInt64: "-9223372036854775808", math.MinInt64 + 1: "-9223372036854775807",
	} {
		if got := decimal.FromInt(n).String(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		if got := decimal.FromInt(n); got != number(t, want) {
			t.Errorf("%d is not the number that %s is read as", n, want)
		}
	}
}

func TestFromFloat_ReturnsShortestDecimal(t *testing.T) {
	tests := []struct {
		reason string
		in     float64
		want   string
		err    error
	}{
		{"the shortest decimal", 22.4, "22.4", nil},
		{"no decimals", 42, "42", nil},
		{"not quite 0.3", 0.30000000000000004, "0.30000000000000004", nil},
		{"zero", 0, "0", nil},
		{"negative zero", math.Copysign(0, -1), "0", nil},
		{"hundreds", 100, "100", nil},
		{"negative", -1.5e-7, "-0.00000015", nil},
		{"large", 1e125, "1e125", nil},
		{"too large", 1e126, "", decimal.ErrRange},
		{"the largest", math.MaxFloat64, "", decimal.ErrRange},
		{"small", 1e-130, "1e-130", nil},
		{"too small", 9e-131, "", decimal.ErrRange},
		{"the smallest", math.SmallestNonzeroFloat64, "", decimal.ErrRange},
		{"not a number", math.NaN(), "", decimal.ErrSyntax},
		{"infinity", math.Inf(1), "", decimal.ErrSyntax},
		{"minus infinity", math.Inf(-1), "", decimal.ErrSyntax},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			n, err := decimal.FromFloat(tt.in)
			if !errors.Is(err, tt.err) || err == nil && n.String() != tt.want {
				t.Errorf("got %s, %v, want %s, %v", n, err, tt.want, tt.err)
			}
		})
	}
}

// TestFromFloat_RoundTrips checks that Float64 returns the float that FromFloat converted.
func TestFromFloat_RoundTrips(t *testing.T) {
	checkMany(t, func(t *rapid.T) {
		f := rapid.Float64Range(-1e120, 1e120).Draw(t, "f")
		n, err := decimal.FromFloat(f)
		if err != nil {
			if errors.Is(err, decimal.ErrRange) && math.Abs(f) < 1e-130 {
				return
			}
			t.Fatalf("%g: %v", f, err)
		}
		if got := n.Float64(); got != f {
			t.Fatalf("%g comes back as %g", f, got)
		}
	})
}

func TestFromScaled_ChecksExponent(t *testing.T) {
	tests := []struct {
		reason      string
		coefficient int64
		exp         int
		want        string
	}{
		{"an integer", 42, 0, "42"},
		{"decimals", 224, -1, "22.4"},
		{"zeros", 5, 3, "5000"},
		{"zero", 0, 0, "0"},
		{"zero with decimals", 0, -2, "0.00"},
		{"zero and a positive exponent is zero", 0, 3, "0"},
		{"zero and a large exponent is zero", 0, 100, "0"},
		{"zero and more decimals than a number has", 0, -100, "0." + zeros(38)},
		{"the largest", math.MaxInt64, decimal.MaxScale, "9.223372036854775807e118"},
		{"the least", math.MinInt64, decimal.MaxScale, "-9.223372036854775808e118"},
		{"the smallest", 1, -decimal.MaxScale, "1e-100"},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			n := decimal.FromScaled(tt.coefficient, tt.exp)
			if got := n.String(); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
			if !n.Equal(number(t, tt.want)) {
				t.Errorf("not equal to %s", tt.want)
			}
		})
	}
	for _, exp := range []int{decimal.MaxScale + 1, -decimal.MaxScale - 1, math.MaxInt, math.MinInt} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("exponent %d: no panic", exp)
				}
			}()
			decimal.FromScaled(1, exp)
		}()
	}
}

// TestScaled_ReturnsPartsThatFit checks that Scaled succeeds only for numbers that FromScaled can return.
// Of these, it must fail only for the coefficient math.MinInt64.
func TestScaled_ReturnsPartsThatFit(t *testing.T) {
	tests := []struct {
		reason string
		n      decimal.Number
		fits   bool
	}{
		{"zero", decimal.Number{}, true},
		{"zero with decimals", number(t, "0.00"), true},
		{"decimals", number(t, "-22.40"), true},
		{"the largest", decimal.FromInt(math.MaxInt64), true},
		{"the least but one", decimal.FromInt(math.MinInt64 + 1), true},
		{"the least, which cannot be negated", decimal.FromInt(math.MinInt64), false},
		{"one too large", number(t, "9223372036854775808"), false},
		{"one too little", number(t, "-9223372036854775809"), false},
		{"128 bits", number(t, nines(38)), false},
		{"the largest exponent", number(t, "1e100"), true},
		{"an exponent too large", number(t, "1e101"), false},
		{"the least exponent", number(t, "1e-100"), true},
		{"an exponent too small", number(t, "1e-101"), false},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			coefficient, exp, ok := tt.n.Scaled()
			if ok != tt.fits {
				t.Fatalf("%s: fits is %t, want %t", tt.n, ok, tt.fits)
			}
			if ok && decimal.FromScaled(coefficient, exp) != tt.n {
				t.Errorf("%s comes back as %s", tt.n, decimal.FromScaled(coefficient, exp))
			}
		})
	}
}

func TestScaled_RoundTrips(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		coefficient := rapid.Int64Min(math.MinInt64+1).Draw(t, "coefficient")
		exp := rapid.IntRange(-decimal.MaxScale, decimal.MaxScale).Draw(t, "exp")
		n := decimal.FromScaled(coefficient, exp)
		if c, e, ok := n.Scaled(); !ok || decimal.FromScaled(c, e) != n || coefficient != 0 && (c != coefficient || e != exp) {
			t.Fatalf("%d·10^%d comes back as %d·10^%d, %t", coefficient, exp, c, e, ok)
		}
	})
}

func TestAppendScaled_AgreesWithNumber(t *testing.T) {
	for _, exp := range []int{-100, -17, -16, -15, -2, -1, 0, 1, 15, 16, 100} {
		for c := int64(-20_000); c < 20_000; c++ {
			got, want := decimal.AppendCanonicalScaled(nil, c, exp), decimal.FromScaled(c, exp).AppendCanonical(nil)
			if string(got) != string(want) {
				t.Fatalf("%d, exponent %d: %x, want %x", c, exp, got, want)
			}
			if got, want := string(decimal.AppendScaled(nil, c, exp)), decimal.FromScaled(c, exp).String(); got != want {
				t.Fatalf("%d, exponent %d: %s, want %s", c, exp, got, want)
			}
		}
	}
}
