package block

import (
	"github.com/varvedb/varve"
	"github.com/varvedb/varve/decimal"
)

// Numbers summarizes the numbers of a column in a range of readings.
type Numbers struct {
	Count       int64
	Min, Max    varve.Number // the zero number if Count is 0
	First, Last int          // indexes of the readings with the first and the last number

	total coefficients // summary of the elements of Column.Coefs
	exp   int          // exponent of total
	wide  decimal.Sum  // sum of the numbers of Column.Wide
}

// AddTo adds the numbers to a sum, exactly.
func (n *Numbers) AddTo(sum *decimal.Sum) {
	if n.Count > 0 {
		n.total.addTo(sum, n.exp)
		sum.AddSum(&n.wide)
	}
}

// Numbers summarizes the numbers of the readings in [from, to). Values of other kinds are ignored.
func (c *Column) Numbers(from, to int) (n Numbers) {
	if len(c.Wide) > 0 {
		c.addWide(&n, from, to)
		return n
	}
	c.Decode()
	var t coefficients
	if len(c.Slots) == 0 && c.Kind == varve.KindNumber && from < to {
		n.Count, n.First, n.Last = int64(to-from), from, to-1
		t = coefficients{least: c.Coefs[from], most: c.Coefs[from]}
		for _, coef := range c.Coefs[from:to] {
			t.add(coef)
		}
	} else {
		for i := from; i < to; i++ {
			kind, at := c.slot(i)
			if kind != varve.KindNumber {
				continue
			}
			coef := c.Coefs[at]
			if n.Count == 0 {
				n.First, t = i, coefficients{least: coef, most: coef}
			}
			t.add(coef)
			n.Last = i
			n.Count++
		}
	}
	if n.Count > 0 {
		n.Min, n.Max = decimal.FromScaled(t.least, int(c.Least)), decimal.FromScaled(t.most, int(c.Least))
		n.total, n.exp = t, int(c.Least)
	}
	return n
}

// CountNumbers returns the number of readings in [from, to) that have a number.
func (c *Column) CountNumbers(from, to int) int {
	if len(c.Kinds) == 0 {
		if c.Kind != varve.KindNumber {
			return 0
		}
		return c.Count(from, to)
	}
	n := 0
	for i := from; i < to; i++ {
		if kind, _ := c.slot(i); kind == varve.KindNumber {
			n++
		}
	}
	return n
}

// coefficients summarizes elements of Column.Coefs. Their sum is high × 2^32 + low. So the sum of
// fewer than 2^31 elements cannot overflow.
type coefficients struct{ least, most, low, high int64 }

func (t *coefficients) add(coef int64) {
	t.least, t.most = min(t.least, coef), max(t.most, coef)
	t.low += int64(uint32(coef))
	t.high += coef >> 32
}

// addTo adds the sum of the coefficients, times 10^exp, to another sum.
func (t *coefficients) addTo(sum *decimal.Sum, exp int) {
	if *t == (coefficients{}) {
		return
	}
	if high := t.high + t.low>>32; high == int64(int32(high)) {
		sum.Add(decimal.FromScaled(high<<32|int64(uint32(t.low)), exp))
		return
	}
	sum.AddProduct(decimal.FromScaled(t.high, exp), 1<<32)
	sum.Add(decimal.FromScaled(t.low, exp))
}

// addWide adds the numbers of the readings in [from, to) to a summary. The column uses Wide.
func (c *Column) addWide(n *Numbers, from, to int) {
	for i := from; i < to; i++ {
		v := c.Value(i)
		if v.Kind() != varve.KindNumber {
			continue
		}
		x := v.Number()
		n.wide.Add(x)
		if n.Count == 0 {
			n.Min, n.Max, n.First = x, x, i
		}
		if x.Compare(n.Min) < 0 {
			n.Min = x
		}
		if x.Compare(n.Max) > 0 {
			n.Max = x
		}
		n.Last = i
		n.Count++
	}
}
