package decimal

import (
	"math"
	"math/big"
	"math/bits"
	"strconv"
	"strings"
)

// Sum is the exact sum of numbers, with any number of digits. The zero value is 0. A Sum must not
// be copied after Add, because the copies would share a big.Int.
type Sum struct {
	big   *big.Int // nil means 0
	small int64    // addend that is not yet in big, so that most sums need no big.Int
	exp   int      // the value is (big + small) × 10^exp
	begun bool     // whether exp has been set
}

// meanDigits is the number of significant digits of a mean. A mean has more digits if it needs them to have
// as many decimals as the sum.
const meanDigits = 20

// Add adds a number to the sum.
func (d *Sum) Add(n Number) {
	neg, hi, lo, exp := n.Parts()
	if hi == 0 && lo == 0 {
		return
	}
	shift := d.align(exp)
	if hi == 0 && shift < len(powersOf10) && d.addSmall(neg, lo, powersOf10[shift]) {
		return
	}
	c := new(big.Int).SetUint64(hi)
	c.Lsh(c, 64).Or(c, new(big.Int).SetUint64(lo))
	if neg {
		c.Neg(c)
	}
	d.addBig(c.Mul(c, tenTo(shift)))
}

// addSmall adds ±coefficient × factor to d.small, or returns false if the product is too large.
func (d *Sum) addSmall(neg bool, coefficient, factor uint64) bool {
	over, c := bits.Mul64(coefficient, factor)
	if over != 0 || c > math.MaxInt64/2 {
		return false
	}
	if d.small > math.MaxInt64/2 || d.small < -math.MaxInt64/2 {
		d.fold()
	}
	if neg {
		d.small -= int64(c)
	} else {
		d.small += int64(c)
	}
	return true
}

// AddSum adds the value of another sum.
func (d *Sum) AddSum(o *Sum) {
	if o.big == nil && o.exp >= -MaxScale && o.exp <= MaxScale {
		d.Add(FromScaled(o.small, o.exp))
		return
	}
	c, exp := o.parts()
	if c.Sign() != 0 {
		shift := d.align(exp)
		d.addBig(c.Mul(c, tenTo(shift)))
	}
}

// align lowers the exponent of the sum to exp, unless it is lower already. It returns exp minus the
// resulting exponent of the sum.
func (d *Sum) align(exp int) int {
	if !d.begun {
		d.exp, d.begun = exp, true
	}
	if exp >= d.exp {
		return exp - d.exp
	}
	d.fold()
	d.big.Mul(d.big, tenTo(d.exp-exp))
	d.exp = exp
	return 0
}

func (d *Sum) addBig(c *big.Int) {
	d.fold()
	d.big.Add(d.big, c)
}

// fold moves the value of d.small into d.big.
func (d *Sum) fold() {
	if d.big == nil {
		d.big = new(big.Int)
	}
	d.big.Add(d.big, big.NewInt(d.small))
	d.small = 0
}

// parts returns the coefficient and the exponent. The caller may change the coefficient.
func (d *Sum) parts() (*big.Int, int) {
	c := big.NewInt(d.small)
	if d.big != nil {
		c.Add(c, d.big)
	}
	return c, d.exp
}

// Mean returns the sum divided by a positive count, rounded half to even to 20 significant digits. If
// a mean with the decimals of the sum has more digits than that, Mean rounds to these decimals.
func (d *Sum) Mean(count int64) Sum {
	c, exp := d.parts()
	n := big.NewInt(count)
	more := max(0, meanDigits-digitsOf(c)+digitsOf(n))
	for {
		q := quotient(new(big.Int).Mul(c, tenTo(more)), n)
		if more == 0 || digitsOf(q) <= meanDigits {
			return Sum{big: q, exp: exp - more, begun: true}
		}
		more--
	}
}

// quotient returns c / n for a positive n, rounded half to even.
func quotient(c, n *big.Int) *big.Int {
	q, r := new(big.Int).QuoRem(c, n, new(big.Int))
	twice := new(big.Int).Abs(r)
	switch twice.Lsh(twice, 1).Cmp(n) {
	case -1:
		return q
	case 0:
		if q.Bit(0) == 0 {
			return q
		}
	}
	return q.Add(q, big.NewInt(int64(c.Sign())))
}

func digitsOf(n *big.Int) int { return len(new(big.Int).Abs(n).String()) }

// Append appends the sum in JSON syntax without trailing zeros. Like [Number.Append], it uses an
// exponent only for long numbers.
func (d *Sum) Append(dst []byte) []byte {
	if d.big == nil && d.exp >= -MaxScale && d.exp <= MaxScale {
		return FromScaled(d.small, d.exp).Canonical().Append(dst)
	}
	c, exp := d.parts()
	if c.Sign() == 0 {
		return append(dst, '0')
	}
	if c.Sign() < 0 {
		dst = append(dst, '-')
	}
	digits := c.Abs(c).String()
	short := strings.TrimRight(digits, "0")
	exp += len(digits) - len(short)
	switch point := len(short) + exp; {
	case exp >= 0 && point <= longestPlain:
		return append(append(dst, short...), strings.Repeat("0", exp)...)
	case exp < 0 && point > 0:
		return append(append(append(dst, short[:point]...), '.'), short[point:]...)
	case exp < 0 && 2-exp <= longestPlain:
		return append(append(append(dst, "0."...), strings.Repeat("0", -point)...), short...)
	}
	dst = append(dst, short[0])
	if len(short) > 1 {
		dst = append(append(dst, '.'), short[1:]...)
	}
	return strconv.AppendInt(append(dst, 'e'), int64(exp+len(short)-1), 10)
}

// String returns the text that Append writes.
func (d *Sum) String() string { return string(d.Append(nil)) }

// MarshalJSON implements json.Marshaler. It writes a number with all digits.
func (d Sum) MarshalJSON() ([]byte, error) { return d.Append(nil), nil }

// UnmarshalJSON implements json.Unmarshaler.
func (d *Sum) UnmarshalJSON(text []byte) (err error) {
	*d, err = ParseSum(string(text))
	return err
}

// ParseSum parses the text that Append writes.
func ParseSum(text string) (d Sum, err error) {
	if n, err := Parse(text); err == nil {
		d.Add(n)
		return d, nil
	}
	digits, power, scientific := strings.Cut(text, "e")
	if scientific {
		if d.exp, err = strconv.Atoi(power); err != nil {
			return d, ErrSyntax
		}
	}
	whole, decimals, _ := strings.Cut(digits, ".")
	c, ok := new(big.Int).SetString(whole+decimals, 10)
	if !ok || strings.ContainsAny(decimals, "+-") {
		return d, ErrSyntax
	}
	return Sum{big: c, exp: d.exp - len(decimals), begun: true}, nil
}

func tenTo(n int) *big.Int {
	if n < len(powersOf10) {
		return new(big.Int).SetUint64(powersOf10[n])
	}
	return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil)
}

// Short returns the sum as a number. It returns false if the sum uses a big.Int, or if its exponent
// is not from -MaxScale to MaxScale.
func (d *Sum) Short() (Number, bool) {
	if d.big != nil || d.exp < -MaxScale || d.exp > MaxScale {
		return Number{}, false
	}
	return FromScaled(d.small, d.exp), true
}

// Float64 returns the nearest float64. It is infinite if the sum is out of range.
func (d *Sum) Float64() float64 {
	if n, ok := d.Short(); ok {
		return n.Float64()
	}
	f, _ := strconv.ParseFloat(d.String(), 64) // the text always parses
	return f
}
