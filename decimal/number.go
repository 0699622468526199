package decimal

import (
	"cmp"
	"math"
	"math/bits"
	"strconv"
)

// Limits of a [Number]. They equal the limits of a DynamoDB number, so that all stores accept
// the same readings. Source: Amazon DynamoDB developer guide, "Supported data types", Number.
const (
	MaxDigits   = 38   // significant decimal digits
	MaxExponent = 125  // largest power of ten of the first digit: numbers are below 1e126
	MinExponent = -130 // smallest power of ten of the first digit: numbers other than 0 are at least 1e-130
)

// Number is an exact decimal number of at most 38 significant digits: coefficient × 10^exponent.
//
// It has the scale with which it was written, so 42.0 stays 42.0. [Number.Equal] and the identity
// of readings ignore the scale. The zero value is 0. Numbers can be copied.
type Number struct {
	hi, lo uint64 // 128-bit coefficient, which is below 10^38 and so below 2^127
	exp    int16
	neg    bool
}

// FromInt returns n exactly.
func FromInt(n int64) Number {
	if n < 0 {
		return Number{lo: uint64(-(n + 1)) + 1, neg: true}
	}
	return Number{lo: uint64(n)}
}

// FromFloat returns the shortest decimal that parses to f.
//
// It fails for NaN, infinities and numbers outside the range of a Number.
func FromFloat(f float64) (Number, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return Number{}, ErrSyntax
	}
	return Parse(strconv.FormatFloat(f, 'e', -1, 64))
}

// New returns coefficient × 10^exp, or its negative if neg is true. The coefficient is hi·2^64 +
// lo. If the number does not fit, the error is ErrPrecision or ErrRange.
func New(neg bool, hi, lo uint64, exp int) (Number, error) {
	for {
		digits := decimalDigits(hi, lo)
		if digits == 0 {
			return zeroNumber(exp), nil
		}
		if digits <= MaxDigits {
			if first := exp + digits - 1; first > MaxExponent || first < MinExponent {
				return Number{}, ErrRange
			}
			return Number{hi: hi, lo: lo, exp: int16(exp), neg: neg}, nil
		}
		q, l, r := div10(hi, lo)
		if r != 0 {
			return Number{}, ErrPrecision
		}
		hi, lo, exp = q, l, exp+1
	}
}

// zeroNumber returns 0 with up to 38 decimals. A positive exponent becomes 0.
func zeroNumber(exp int) Number {
	return Number{exp: int16(max(min(exp, 0), -MaxDigits))}
}

// Digits returns the number of decimal digits of the coefficient, and 0 for the number 0.
func (n Number) Digits() int { return decimalDigits(n.hi, n.lo) }

// Parts returns the sign, the 128-bit coefficient and the exponent.
func (n Number) Parts() (neg bool, hi, lo uint64, exp int) {
	return n.neg, n.hi, n.lo, int(n.exp)
}

// IsZero reports whether n is 0, at any scale.
func (n Number) IsZero() bool { return n.hi == 0 && n.lo == 0 }

// Canonical returns the number without trailing zeros: 42.0 becomes 42. Two canonical numbers are
// == if and only if they have the same value.
func (n Number) Canonical() Number {
	if n.IsZero() {
		return Number{}
	}
	for n.hi != 0 {
		h, l, r := div10(n.hi, n.lo)
		if r != 0 {
			return n
		}
		n.hi, n.lo, n.exp = h, l, n.exp+1
	}
	for n.lo%10 == 0 {
		n.lo, n.exp = n.lo/10, n.exp+1
	}
	return n
}

// Equal reports whether n and m have the same value. It ignores the scale.
func (n Number) Equal(m Number) bool { return n == m || n.Canonical() == m.Canonical() }

// Compare returns -1, 0 or 1 if n is less than, equal to or greater than m.
func (n Number) Compare(m Number) int {
	if n.exp == m.exp && !n.neg && !m.neg {
		return cmp.Or(cmp.Compare(n.hi, m.hi), cmp.Compare(n.lo, m.lo))
	}
	n, m = n.Canonical(), m.Canonical()
	if n == m {
		return 0
	}
	if c := cmp.Compare(n.sign(), m.sign()); c != 0 {
		return c
	}
	c := compareMagnitude(n, m)
	if n.neg {
		return -c
	}
	return c
}

func (n Number) sign() int {
	switch {
	case n.IsZero():
		return 0
	case n.neg:
		return -1
	default:
		return 1
	}
}

func compareMagnitude(n, m Number) int {
	nd, md := decimalDigits(n.hi, n.lo), decimalDigits(m.hi, m.lo)
	if a, b := nd+int(n.exp), md+int(m.exp); a != b {
		if a < b {
			return -1
		}
		return 1
	}
	// The first digits have the same place value. So the number with the larger exponent is
	// scaled to the smaller exponent.
	for ; n.exp > m.exp; n.exp-- {
		n.hi, n.lo = mul10(n.hi, n.lo)
	}
	for ; m.exp > n.exp; m.exp-- {
		m.hi, m.lo = mul10(m.hi, m.lo)
	}
	return cmp.Or(cmp.Compare(n.hi, m.hi), cmp.Compare(n.lo, m.lo))
}

// Float64 returns the nearest float64, for display and statistics. Do not store it.
func (n Number) Float64() float64 {
	if n.hi == 0 && n.lo < 1<<53 && n.exp <= 0 && n.exp >= -22 {
		// The coefficient and the power of ten are exact, so the division rounds once.
		f := float64(n.lo) / exactPowers[-n.exp]
		if n.neg {
			return -f
		}
		return f
	}
	// The text of a Number always parses, and its range fits a float64.
	f, _ := strconv.ParseFloat(n.String(), 64)
	return f
}

// exactPowers has the powers of ten that a float64 represents exactly.
var exactPowers = [...]float64{1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11,
	1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22}

var powersOf10 = func() (p [20]uint64) {
	p[0] = 1
	for i := 1; i < len(p); i++ {
		p[i] = p[i-1] * 10
	}
	return p
}()

// decimalDigits returns the number of decimal digits of hi·2^64 + lo, and 0 for 0.
func decimalDigits(hi, lo uint64) int {
	if hi == 0 {
		n := bits.Len64(lo) * 1233 >> 12 // log10(2) ≈ 1233/4096
		if n < len(powersOf10) && lo >= powersOf10[n] {
			n++
		}
		return n
	}
	n := 0
	for ; hi != 0; n++ {
		hi, lo, _ = div10(hi, lo)
	}
	return n + decimalDigits(0, lo)
}

func div10(hi, lo uint64) (qhi, qlo, rem uint64) {
	qhi = hi / 10
	qlo, rem = bits.Div64(hi%10, lo, 10)
	return qhi, qlo, rem
}

func mul10(hi, lo uint64) (uint64, uint64) {
	h, l := bits.Mul64(lo, 10)
	return hi*10 + h, l
}

// MaxScale limits the exponent of [FromScaled], so that the result is in range for every
// coefficient.
const MaxScale = 100

// FromScaled returns coefficient × 10^exp for an exponent from -100 to 100. It panics if the
// exponent is out of that range; use [New] for input.
func FromScaled(coefficient int64, exp int) Number {
	if exp < -MaxScale || exp > MaxScale {
		panic("decimal: FromScaled: exponent out of range")
	}
	if coefficient == 0 {
		return zeroNumber(exp)
	}
	n := FromInt(coefficient)
	n.exp = int16(exp)
	return n
}

// Int64 returns n as an integer. It returns false if n is not an integer, or if n or -n does not fit
// an int64.
func (n Number) Int64() (int64, bool) {
	c, exp, ok := n.Canonical().Scaled()
	if !ok || exp < 0 {
		return 0, false
	}
	for ; exp > 0; exp-- {
		if c > math.MaxInt64/10 || c < math.MinInt64/10 {
			return 0, false
		}
		c *= 10
	}
	return c, true
}

// PowerOf10 returns 10^n, or false if n is negative or the power exceeds an int64.
func PowerOf10(n int64) (int64, bool) {
	if n < 0 || n > 18 {
		return 0, false
	}
	return int64(powersOf10[n]), true
}

// Scaled returns a coefficient and an exponent for which [FromScaled] returns the same number. It
// returns false if they do not exist, or if the negated coefficient would overflow.
func (n Number) Scaled() (coefficient int64, exp int, ok bool) {
	if n.hi != 0 || n.lo > math.MaxInt64 || n.exp < -MaxScale || n.exp > MaxScale {
		return 0, 0, false
	}
	if n.neg {
		return -int64(n.lo), int(n.exp), true
	}
	return int64(n.lo), int(n.exp), true
}
