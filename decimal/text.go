package decimal

import (
	"errors"
	"math"
	"math/bits"
	"strconv"
)

// Errors that [Parse] returns.
var (
	ErrSyntax    = errors.New("not a decimal number")
	ErrPrecision = errors.New("more than 38 significant digits")
	ErrRange     = errors.New("outside 1e-130 to 9.99e125")
)

// Parse parses a decimal number in JSON syntax. If the text is not a number, or does not fit a
// Number, the error is ErrSyntax, ErrPrecision or ErrRange.
//
// The syntax is an optional minus, digits without a superfluous leading zero, and an optional
// fraction and exponent.
func Parse[T ~string | ~[]byte](s T) (Number, error) {
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
		return Number{}, ErrSyntax
	}
	if i < len(s) && s[i] == '.' {
		i++
		point := i
		for ; i < len(s) && isDigit(s[i]); i++ {
			d.digit(s[i])
		}
		if i == point {
			return Number{}, ErrSyntax
		}
		d.exp -= i - point
	}
	if i < len(s) && (s[i] == 'e' || s[i] == 'E') {
		e, next, ok := scanExponent(s, i+1)
		if !ok {
			return Number{}, ErrSyntax
		}
		d.exp += e
		i = next
	}
	if i != len(s) {
		return Number{}, ErrSyntax
	}
	return d.number()
}

func isDigit(c byte) bool { return c-'0' <= 9 }

// maxScanned limits a parsed exponent. A number other than 0 with such an exponent is out of range, because no
// text has 100 MB of digits.
const maxScanned = 100_000_000

// scanExponent parses [+-]digits from s[i:]. It limits the result to ±maxScanned.
func scanExponent[T ~string | ~[]byte](s T, i int) (e, next int, ok bool) {
	neg := false
	if i < len(s) && (s[i] == '+' || s[i] == '-') {
		neg = s[i] == '-'
		i++
	}
	first := i
	for ; i < len(s) && isDigit(s[i]); i++ {
		e = min(e*10+int(s[i]-'0'), maxScanned)
	}
	if neg {
		e = -e
	}
	return e, i, i > first
}

// decimalScan collects digits into a coefficient of at most 38 digits. It only counts the zeros after
// 38 digits, so that 1000…0 of any length fits.
type decimalScan struct {
	hi, lo  uint64
	digits  int // number of significant digits in the coefficient
	zeros   int // number of zeros after the first 38 digits
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

// wide appends digit c to the 128-bit coefficient, or records that the number has too many digits.
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
		return Number{}, ErrPrecision
	}
	return New(d.neg, d.hi, d.lo, d.exp+d.zeros)
}

// String returns the number in JSON syntax; see [Number.Append].
func (n Number) String() string { return string(n.Append(nil)) }

// longestPlain is the largest length of a number's text without an exponent. The sign does not
// count.
const longestPlain = MaxDigits + 3

// Append appends n to dst in JSON syntax, with all decimals of its scale. It uses an exponent
// only if the text would exceed 41 characters without one. The sign does not count.
func (n Number) Append(dst []byte) []byte {
	if n.neg {
		dst = append(dst, '-')
	}
	switch {
	case n.hi == 0 && n.exp == 0:
		return strconv.AppendUint(dst, n.lo, 10)
	case n.hi == 0 && n.exp == -1: // the most common decimal
		dst = strconv.AppendUint(dst, n.lo/10, 10)
		return append(dst, '.', byte('0'+n.lo%10))
	case n.hi == 0 && n.exp == -2:
		dst = strconv.AppendUint(dst, n.lo/100, 10)
		return append(dst, '.', byte('0'+n.lo/10%10), byte('0'+n.lo%10))
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
	// The coefficient is below 10^38, so one division splits it into two halves of at most 19
	// digits.
	q, r := bits.Div64(hi, lo, 1e19)
	dst = strconv.AppendUint(dst, q, 10)
	from := len(dst)
	dst = append(dst, "0000000000000000000"...)
	var buf [20]byte
	low := strconv.AppendUint(buf[:0], r, 10)
	copy(dst[from+19-len(low):], low)
	return dst
}

// AppendScaled appends the text of FromScaled(coefficient, exp). It may overwrite bytes between the length
// and the capacity of the result.
func AppendScaled(dst []byte, coefficient int64, exp int) []byte {
	if s := ShortText(coefficient, exp); !s.IsZero() {
		return s.AppendTo(dst)
	}
	return FromScaled(coefficient, exp).Append(dst)
}
