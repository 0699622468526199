package parquetfile

import (
	"math/bits"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/decimal"
)

// wideOf returns n as a sign and a 128-bit coefficient: n = ±coefficient × 10^-scale. It returns
// false if n has more decimals than "scale", or if the coefficient has more than 38 digits.
func wideOf(n varve.Number, scale int) (neg bool, hi, lo uint64, ok bool) {
	n = n.Canonical()
	neg, hi, lo, exp := n.Parts()
	if hi == 0 && lo == 0 {
		return false, 0, 0, true
	}
	if exp < -scale || n.Digits()+exp+scale > wideDigits {
		return false, 0, 0, false
	}
	for ; exp > -scale; exp-- {
		h, l := bits.Mul64(lo, 10)
		hi, lo = hi*10+h, l
	}
	return neg, hi, lo, true
}

// appendWide appends a coefficient as 16 bytes in two's complement, big-endian.
func appendWide(dst []byte, neg bool, hi, lo uint64) []byte {
	if neg {
		var borrow uint64
		lo, borrow = bits.Sub64(0, lo, 0)
		hi, _ = bits.Sub64(0, hi, borrow)
	}
	for shift := 56; shift >= 0; shift -= 8 {
		dst = append(dst, byte(hi>>shift))
	}
	for shift := 56; shift >= 0; shift -= 8 {
		dst = append(dst, byte(lo>>shift))
	}
	return dst
}

// parseWide parses 16 bytes that appendWide wrote.
func parseWide(data []byte, scale int) (varve.Number, error) {
	var hi, lo uint64
	for _, b := range data[:8] {
		hi = hi<<8 | uint64(b)
	}
	for _, b := range data[8:wideBytes] {
		lo = lo<<8 | uint64(b)
	}
	neg := hi>>63 == 1
	if neg {
		var borrow uint64
		lo, borrow = bits.Sub64(0, lo, 0)
		hi, _ = bits.Sub64(0, hi, borrow)
	}
	return decimal.New(neg, hi, lo, -scale)
}

// withExponent returns a number that equals n and has the exponent exp, or false if no such number
// exists.
func withExponent(n varve.Number, exp int) (varve.Number, bool) {
	c := n.Canonical()
	if c.IsZero() {
		z, err := decimal.New(false, 0, 0, exp)
		return z, err == nil
	}
	neg, hi, lo, is := c.Parts()
	if exp > is || c.Digits()+is-exp > wideDigits {
		return n, false
	}
	for ; is > exp; is-- {
		h, l := bits.Mul64(lo, 10)
		hi, lo = hi*10+h, l
	}
	m, err := decimal.New(neg, hi, lo, exp)
	return m, err == nil
}

// shortestExponent returns the exponent at which a number has the fewest decimals without scientific
// notation: -1 for 1.50, and 0 for 100.
func shortestExponent(n varve.Number) int {
	_, _, _, exp := n.Canonical().Parts()
	return min(exp, 0)
}
