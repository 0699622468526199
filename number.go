package varve

import (
	"cmp"
	"errors"
	"math"
	"math/bits"
	"strconv"
)

// Limits of a [Number]. They are those of a DynamoDB number, so that a reading
// accepted by one store is accepted by all.
// Source: Amazon DynamoDB developer guide, "Supported data types", Number.
const (
	MaxDigits   = 38   // significant decimal digits
	MaxExponent = 125  // power of ten of the first digit: below 1e126
	MinExponent = -130 // power of ten of the first digit: from 1e-130
)

// Errors of [ParseNumber].
var (
	ErrNotNumber       = errors.New("not a decimal number")
	ErrNumberPrecision = errors.New("more than 38 significant digits")
	ErrNumberRange     = errors.New("outside 1e-130 to 9.99e125")
)

// Number is an exact decimal number of at most 38 significant digits:
// coefficient × 10^exponent. It keeps the scale it was written with, so that
// 42.0 comes back as 42.0; [Number.Equal] and identity ignore the scale. The
// zero value is 0. Numbers are values: copy them freely.
type Number struct {
	hi, lo uint64 // coefficient, 128 bits; 10^38 < 2^127
	exp    int16
	neg    bool
}

// NumberFromInt returns n exactly.
func NumberFromInt(n int64) Number {
	if n < 0 {
		return Number{lo: uint64(-(n + 1)) + 1, neg: true}
	}
	return Number{lo: uint64(n)}
}

// NumberFromFloat returns the shortest decimal that reads back as f. It fails
// on NaN, infinities and magnitudes outside the range of a Number.
func NumberFromFloat(f float64) (Number, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return Number{}, ErrNotNumber
	}
	return ParseNumber(strconv.FormatFloat(f, 'e', -1, 64))
}

// NewNumber returns coefficient × 10^exp, negated if neg. The coefficient is
// hi·2^64 + lo. It fails with ErrNumberPrecision or ErrNumberRange.
func NewNumber(neg bool, hi, lo uint64, exp int) (Number, error) {
	for {
		digits := decimalDigits(hi, lo)
		if digits == 0 {
			return zeroNumber(exp), nil
		}
		if digits <= MaxDigits {
			if first := exp + digits - 1; first > MaxExponent || first < MinExponent {
				return Number{}, ErrNumberRange
			}
			return Number{hi: hi, lo: lo, exp: int16(exp), neg: neg}, nil
		}
		q, l, r := div10(hi, lo)
		if r != 0 {
			return Number{}, ErrNumberPrecision
		}
		hi, lo, exp = q, l, exp+1
	}
}

// zeroNumber is 0 written with as many decimals as fit: -0 is 0, and 0e9 is 0.
func zeroNumber(exp int) Number {
	return Number{exp: int16(max(min(exp, 0), -MaxDigits))}
}

// ParseNumber reads a decimal number as JSON writes one: an optional minus,
// digits without a superfluous leading zero, an optional fraction and
// exponent. It fails with ErrNotNumber, ErrNumberPrecision or ErrNumberRange.
func ParseNumber[T ~string | ~[]byte](s T) (Number, error) {
	var d decimalScan
	i := 0
	if i < len(s) && s[i] == '-' {
		d.neg = true
		i++
	}
	first := i
	for ; i < len(s) && isDigit(s[i]); i++ {
		d.digit(s[i])
	}
	if i == first || (s[first] == '0' && i-first > 1) {
		return Number{}, ErrNotNumber
	}
	if i < len(s) && s[i] == '.' {
		i++
		point := i
		for ; i < len(s) && isDigit(s[i]); i++ {
			d.digit(s[i])
		}
		if i == point {
			return Number{}, ErrNotNumber
		}
		d.exp -= i - point
	}
	if i < len(s) && (s[i] == 'e' || s[i] == 'E') {
		e, next, ok := scanExponent(s, i+1)
		if !ok {
			return Number{}, ErrNotNumber
		}
		d.exp += e
		i = next
	}
	if i != len(s) {
		return Number{}, ErrNotNumber
	}
	return d.number()
}

func isDigit(c byte) bool { return c-'0' <= 9 }

// scanExponent reads [+-]digits from s[i:]. Beyond ±100,000 it stays there:
// no such number is in range, however many zeros precede it in 64 KiB.
func scanExponent[T ~string | ~[]byte](s T, i int) (e, next int, ok bool) {
	neg := false
	if i < len(s) && (s[i] == '+' || s[i] == '-') {
		neg = s[i] == '-'
		i++
	}
	first := i
	for ; i < len(s) && isDigit(s[i]); i++ {
		e = min(e*10+int(s[i]-'0'), 100_000)
	}
	if neg {
		e = -e
	}
	return e, i, i > first
}

// decimalScan gathers digits into a coefficient of at most 38 digits. Zeros
// past the last other digit are held back, so that 1000…0 of any length fits.
type decimalScan struct {
	hi, lo  uint64
	digits  int // significant digits in the coefficient
	zeros   int // zeros held back
	exp     int
	neg     bool
	toomany bool
}

func (d *decimalScan) digit(c byte) {
	switch {
	case d.hi == 0 && d.lo < (math.MaxUint64-9)/10 && d.zeros == 0:
		d.lo = d.lo*10 + uint64(c-'0')
		if d.lo != 0 {
			d.digits++
		}
	case c == '0' && (d.zeros > 0 || d.digits >= MaxDigits):
		d.zeros++
	default:
		d.wide(c)
	}
}

// wide appends the zeros held back and then c, in 128 bits.
func (d *decimalScan) wide(c byte) {
	if d.digits+d.zeros >= MaxDigits {
		d.toomany = true
		return
	}
	for ; d.zeros > 0; d.zeros-- {
		d.push(0)
	}
	d.push(uint64(c - '0'))
}

func (d *decimalScan) push(v uint64) {
	h, l := bits.Mul64(d.lo, 10)
	var carry uint64
	d.lo, carry = bits.Add64(l, v, 0)
	d.hi = d.hi*10 + h + carry
	d.digits++
}

func (d *decimalScan) number() (Number, error) {
	if d.toomany {
		return Number{}, ErrNumberPrecision
	}
	return NewNumber(d.neg, d.hi, d.lo, d.exp+d.zeros)
}

// Parts returns the sign, the 128-bit coefficient and the exponent, as written.
func (n Number) Parts() (neg bool, hi, lo uint64, exp int) {
	return n.neg, n.hi, n.lo, int(n.exp)
}

// IsZero reports whether n is zero, however many decimals it was written with.
func (n Number) IsZero() bool { return n.hi == 0 && n.lo == 0 }

// Canonical returns the same number without superfluous zeros: 42.0 and 4.2e1
// both become 42. Canonical numbers are == exactly when they are equal.
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

// Equal reports whether n and m are the same number.
func (n Number) Equal(m Number) bool { return n == m || n.Canonical() == m.Canonical() }

// Compare returns -1, 0 or 1 as n is less than, equal to or greater than m.
func (n Number) Compare(m Number) int {
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
	// Same first digit position: scale the shorter one up to the same exponent.
	for ; n.exp > m.exp; n.exp-- {
		n.hi, n.lo = mul10(n.hi, n.lo)
	}
	for ; m.exp > n.exp; m.exp-- {
		m.hi, m.lo = mul10(m.hi, m.lo)
	}
	return cmp.Or(cmp.Compare(n.hi, m.hi), cmp.Compare(n.lo, m.lo))
}

// Float64 returns the nearest float64. It is for display and statistics, never
// for storing.
func (n Number) Float64() float64 {
	// The text of a Number always parses, and its range is a float64's.
	f, _ := strconv.ParseFloat(n.String(), 64)
	return f
}

// String returns the number as JSON writes it; see [Number.Append].
func (n Number) String() string { return string(n.Append(nil)) }

// longestPlain is the length up to which a number is written without an
// exponent: all that 38 digits, a sign, a point and a leading zero can need.
const longestPlain = MaxDigits + 3

// Append appends n to dst in JSON's grammar, with the decimals it was written
// with; exponents appear only where plain digits would exceed 41 characters.
func (n Number) Append(dst []byte) []byte {
	if n.neg {
		dst = append(dst, '-')
	}
	switch {
	case n.hi == 0 && n.exp == 0:
		return strconv.AppendUint(dst, n.lo, 10)
	case n.hi == 0 && n.exp == -1: // the usual decimal
		dst = strconv.AppendUint(dst, n.lo/10, 10)
		return append(dst, '.', byte('0'+n.lo%10))
	}
	var buf [40]byte
	digits := appendCoefficient(buf[:0], n.hi, n.lo)
	exp := int(n.exp)
	switch point := len(digits) + exp; {
	case exp >= 0 && point <= longestPlain:
		dst = append(dst, digits...)
		return appendZeros(dst, exp)
	case exp < 0 && point > 0:
		dst = append(dst, digits[:point]...)
		dst = append(dst, '.')
		return append(dst, digits[point:]...)
	case exp < 0 && 2-exp <= longestPlain:
		dst = append(dst, '0', '.')
		dst = appendZeros(dst, -point)
		return append(dst, digits...)
	}
	return appendScientific(dst, digits, exp)
}

func appendZeros(dst []byte, n int) []byte {
	for range n {
		dst = append(dst, '0')
	}
	return dst
}

func appendScientific(dst, digits []byte, exp int) []byte {
	dst = append(dst, digits[0])
	if len(digits) > 1 {
		dst = append(dst, '.')
		dst = append(dst, digits[1:]...)
	}
	dst = append(dst, 'e')
	return strconv.AppendInt(dst, int64(exp+len(digits)-1), 10)
}

func appendCoefficient(dst []byte, hi, lo uint64) []byte {
	if hi == 0 {
		return strconv.AppendUint(dst, lo, 10)
	}
	// hi < 10^19, so one division splits the coefficient into two halves of
	// 19 digits.
	q, r := bits.Div64(hi, lo, 1e19)
	dst = strconv.AppendUint(dst, q, 10)
	from := len(dst)
	dst = append(dst, "0000000000000000000"...)
	var buf [20]byte
	low := strconv.AppendUint(buf[:0], r, 10)
	copy(dst[from+19-len(low):], low)
	return dst
}

var powersOf10 = func() (p [20]uint64) {
	p[0] = 1
	for i := 1; i < len(p); i++ {
		p[i] = p[i-1] * 10
	}
	return p
}()

// decimalDigits returns the number of decimal digits of hi·2^64 + lo; 0 for 0.
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

// MaxScale bounds the exponent of [ScaledInt]: any int64 so scaled is in range.
const MaxScale = 100

// ScaledInt returns coefficient × 10^exp for an exponent from -100 to 100. It
// panics on any other: use [NewNumber] for numbers from outside.
func ScaledInt(coefficient int64, exp int) Number {
	if exp < -MaxScale || exp > MaxScale {
		panic("varve: ScaledInt: exponent out of range")
	}
	n := NumberFromInt(coefficient)
	n.exp = int16(exp)
	return n
}

// Scaled returns the coefficient and exponent that [ScaledInt] makes n of;
// false if they do not fit.
func (n Number) Scaled() (coefficient int64, exp int, ok bool) {
	if n.hi != 0 || n.lo > math.MaxInt64 || n.exp < -MaxScale || n.exp > MaxScale {
		return 0, 0, false
	}
	if n.neg {
		return -int64(n.lo), int(n.exp), true
	}
	return int64(n.lo), int(n.exp), true
}
