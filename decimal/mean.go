package decimal

import "math/bits"

// ShortMean returns the same number as [Sum.Mean] without allocating memory. If the sum or the count is
// too large for this, or the count is not positive, it returns false.
func (d *Sum) ShortMean(count int64) (Number, bool) {
	if d.big != nil || d.exp < -MaxScale || d.exp > MaxScale || count <= 0 || count >= 1e9 {
		return Number{}, false
	}
	c := FromScaled(d.small, 0)
	digits := decimalDigits(0, uint64(count))
	for more := max(0, meanDigits-c.Digits()+digits); ; more-- {
		// The product has at most 20 + 9 digits, so it fits in 128 bits.
		hi, lo := bits.Mul64(c.lo, powersOf10[min(more, len(powersOf10)-1)])
		for range more - (len(powersOf10) - 1) {
			hi, lo = mul10(hi, lo)
		}
		hi, lo = divideToEven(hi, lo, uint64(count))
		if more > 0 && decimalDigits(hi, lo) > meanDigits {
			continue
		}
		n, err := New(c.neg, hi, lo, d.exp-more)
		return n.Canonical(), err == nil
	}
}

// divideToEven divides a number of 128 bits by n, which is less than 2^63, and rounds half to even.
func divideToEven(hi, lo, n uint64) (qhi, qlo uint64) {
	qhi, hi = hi/n, hi%n
	qlo, rest := bits.Div64(hi, lo, n)
	if 2*rest > n || 2*rest == n && qlo%2 == 1 {
		var carry uint64
		qlo, carry = bits.Add64(qlo, 1, 0)
		qhi += carry
	}
	return qhi, qlo
}
