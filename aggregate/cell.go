package aggregate

import (
	"slices"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/decimal"
	"github.com/varvedb/varve/rollup"
)

// Value is the result of a function. The zero Value means that the function has no result.
type Value struct {
	number varve.Number
	long   *decimal.Sum // if set, the value, which may have more digits than a Number can have
	exists bool
}

// IsNull reports whether the value is missing.
func (v Value) IsNull() bool { return !v.exists }

// Append appends the value as JSON, with all digits.
func (v Value) Append(dst []byte) []byte {
	switch {
	case !v.exists:
		return append(dst, "null"...)
	case v.long != nil:
		return v.long.Append(dst)
	default:
		return v.number.Append(dst)
	}
}

// String returns the text that Append writes.
func (v Value) String() string { return string(v.Append(nil)) }

func numberValue(n varve.Number) Value { return Value{number: n, exists: true} }

func longValue(s decimal.Sum) Value { return Value{long: &s, exists: true} }

func (v Value) sum() *decimal.Sum {
	if v.long != nil {
		return v.long
	}
	s := new(decimal.Sum)
	s.Add(v.number)
	return s
}

// cell accumulates the values of one field in one bucket.
type cell struct {
	name        string // name of the field
	count       int64  // number of values of any kind
	numbers     int64  // number of values that are numbers
	total       decimal.Sum
	squares     decimal.Sum
	low, high   varve.Number
	start, end  varve.Position // positions of the first and last number
	first, last varve.Number
	collected   []varve.Number // all numbers, if the query needs percentiles
	isSorted    bool
}

// add adds a value at a position. Of values with equal positions, the one that was added first
// counts as the earliest, and the one that was added last counts as the latest.
func (c *cell) add(at varve.Position, v varve.Value, n needs) {
	c.count++
	if v.Kind() != varve.KindNumber {
		return
	}
	x := v.Number()
	if n.sum {
		c.total.Add(x)
	}
	if n.squares {
		c.squares.AddSquare(x)
	}
	if n.numbers {
		c.collected = append(c.collected, x)
	}
	c.widen(1, bounds{x, x, at, at, x, x}, n)
}

// bounds are the extremes of several numbers, and the first and last of them.
type bounds struct {
	low, high   varve.Number
	start, end  varve.Position
	first, last varve.Number
}

// widen adds several numbers. Only their count and their bounds are known. Equal numbers may differ in
// trailing zeros. The lowest and the highest number are stored without trailing zeros, so that they do
// not depend on the order.
func (c *cell) widen(count int64, b bounds, n needs) {
	if n.bounds {
		if c.numbers == 0 || b.low.Compare(c.low) < 0 {
			c.low = b.low.Canonical()
		}
		if c.numbers == 0 || b.high.Compare(c.high) > 0 {
			c.high = b.high.Canonical()
		}
	}
	if n.ends {
		if c.numbers == 0 || b.start.Compare(c.start) < 0 {
			c.start, c.first = b.start, b.first
		}
		if c.numbers == 0 || b.end.Compare(c.end) >= 0 {
			c.end, c.last = b.end, b.last
		}
	}
	c.numbers += count
}

func (c *cell) addRollup(f *rollup.Field, n needs) {
	c.count += f.Count
	c.total.AddSum(&f.Sum)
	c.widen(f.Count, bounds{f.Min, f.Max, f.First.At, f.Last.At, f.First.Value, f.Last.Value}, n)
}

// value returns the result of a function for the values added so far.
func (c *cell) value(f Function) Value {
	switch {
	case f.kind == countAll:
		return numberValue(decimal.FromInt(c.count))
	case f.kind == countNumbers:
		return numberValue(decimal.FromInt(c.numbers))
	case c.numbers == 0:
		return Value{}
	}
	switch f.kind {
	case sum:
		return longValue(c.total.Shift(0))
	case mean:
		if n, ok := c.total.ShortMean(c.numbers); ok {
			return numberValue(n)
		}
		return longValue(c.total.Mean(c.numbers))
	case lowest:
		return numberValue(c.low)
	case highest:
		return numberValue(c.high)
	case firstValue:
		return numberValue(c.first)
	case lastValue:
		return numberValue(c.last)
	case deviation:
		return longValue(decimal.Deviation(&c.total, &c.squares, c.numbers))
	default:
		return longValue(c.percentile(f))
	}
}

// percentile returns the value at rank (numbers-1) × percent / 100. Between two ranks, it
// interpolates with decimal weights, so the result is exact.
func (c *cell) percentile(f Function) (p decimal.Sum) {
	if !c.isSorted {
		slices.SortFunc(c.collected, varve.Number.Compare)
		c.isSorted = true
	}
	whole, _ := decimal.PowerOf10(int64(f.places) + 2)
	rank := (c.numbers - 1) * f.percent
	i, part := rank/whole, rank%whole
	p.AddProduct(c.collected[i], whole-part)
	if part > 0 {
		p.AddProduct(c.collected[i+1], part)
	}
	return p.Shift(-f.places - 2)
}
