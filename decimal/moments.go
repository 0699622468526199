package decimal

import (
	"math"
	"math/big"
	"math/bits"
)

// AddSquare adds the square of a number to the sum.
func (d *Sum) AddSquare(n Number) {
	_, hi, lo, exp := n.Parts()
	if hi == 0 && lo == 0 {
		return
	}
	if over, square := bits.Mul64(lo, lo); hi == 0 && over == 0 && square <= math.MaxInt64/2 {
		if shift := d.align(2 * exp); shift < len(powersOf10) && d.addSmall(false, square, powersOf10[shift]) {
			return
		}
	}
	shift := d.align(2 * exp)
	c := n.coefficient()
	d.addBig(c.Mul(c, c).Mul(c, tenTo(shift)))
}

// AddProduct adds a number times a factor to the sum.
func (d *Sum) AddProduct(n Number, factor int64) {
	c := n.coefficient()
	if c.Sign() == 0 || factor == 0 {
		return
	}
	shift := d.align(int(n.exp))
	d.addBig(c.Mul(c, big.NewInt(factor)).Mul(c, tenTo(shift)))
}

func (n Number) coefficient() *big.Int {
	c := new(big.Int).SetUint64(n.hi)
	c.Lsh(c, 64).Or(c, new(big.Int).SetUint64(n.lo))
	if n.neg {
		c.Neg(c)
	}
	return c
}

// Shift returns the sum times 10^exp.
func (d *Sum) Shift(exp int) Sum {
	c, e := d.parts()
	return Sum{big: c, exp: e + exp, begun: true}
}

// Compare returns -1, 0 or 1 if d is less than, equal to or greater than o.
func (d *Sum) Compare(o *Sum) int {
	a, b, _ := alignParts(d, o)
	return a.Cmp(b)
}

// alignParts returns the coefficients of two sums at a common exponent, which is the lower of the
// two.
func alignParts(d, o *Sum) (a, b *big.Int, exp int) {
	a, exp = d.parts()
	b, other := o.parts()
	switch {
	case exp > other:
		a.Mul(a, tenTo(exp-other))
		exp = other
	case other > exp:
		b.Mul(b, tenTo(other-exp))
	}
	return a, b, exp
}

// Interpolate returns d + (o - d) × part / whole, rounded like [Sum.Mean]. The parameter "whole"
// must be positive.
func (d *Sum) Interpolate(o *Sum, part, whole int64) Sum {
	a, b, exp := alignParts(d, o)
	a.Mul(a, big.NewInt(whole-part))
	a.Add(a, b.Mul(b, big.NewInt(part)))
	weighted := Sum{big: a, exp: exp, begun: true}
	weighted.trimZeros() // otherwise the result would depend on trailing zeros of d and o
	return weighted.Mean(whole)
}

// trimZeros removes trailing zeros of the coefficient, and raises the exponent by their number.
// d.small must be 0.
func (d *Sum) trimZeros() {
	ten, rest := big.NewInt(10), new(big.Int)
	for d.big.Sign() != 0 {
		q, r := new(big.Int).QuoRem(d.big, ten, rest)
		if r.Sign() != 0 {
			return
		}
		d.big, d.exp = q, d.exp+1
	}
}

// Deviation returns the population standard deviation of a positive count of numbers.
//
// The arguments are the sum of the numbers and the sum of their squares. The result is rounded
// once, to 20 significant digits.
func Deviation(sum, squares *Sum, count int64) Sum {
	// The variance is exactly (count·squares - sum²) / count².
	total, exp := sum.parts()
	square := Sum{big: total.Mul(total, total), exp: 2 * exp, begun: true}
	s, t, exp := alignParts(squares, &square)
	n := big.NewInt(count)
	s.Mul(s, n).Sub(s, t)
	if s.Sign() <= 0 {
		return Sum{}
	}
	if exp%2 != 0 {
		s.Mul(s, tenTo(1))
		exp--
	}
	more := max(0, meanDigits-digitsOf(s)/2+digitsOf(n)+1)
	for {
		q := quotientRoot(new(big.Int).Mul(s, tenTo(2*more)), n)
		if digitsOf(q) <= meanDigits {
			return Sum{big: q, exp: exp/2 - more, begun: true}
		}
		if more == 0 {
			return roundedRoot(s, n, exp/2, digitsOf(q)-meanDigits)
		}
		more -= min(more, digitsOf(q)-meanDigits)
	}
}

// roundedRoot returns √s / n × 10^exp, rounded to a multiple of 10^(exp+digits).
func roundedRoot(s, n *big.Int, exp, digits int) Sum {
	q := quotientRoot(s, new(big.Int).Mul(n, tenTo(digits)))
	return Sum{big: q, exp: exp + digits, begun: true}
}

// quotientRoot returns √s / n, rounded half to even.
func quotientRoot(s, n *big.Int) *big.Int {
	square := new(big.Int).Mul(n, n)
	q := new(big.Int).Quo(s, square)
	q.Sqrt(q)
	// Round up if (2q+1)²·n² is less than 4s. If both are equal, the quotient is halfway between two
	// integers, so round to the even one.
	half := new(big.Int).Lsh(q, 1)
	half.Add(half, big.NewInt(1))
	half.Mul(half, half).Mul(half, square)
	switch half.Cmp(new(big.Int).Lsh(s, 2)) {
	case -1:
		q.Add(q, big.NewInt(1))
	case 0:
		if q.Bit(0) == 1 {
			q.Add(q, big.NewInt(1))
		}
	}
	return q
}
