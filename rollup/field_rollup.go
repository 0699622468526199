package rollup

import (
	"math"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/decimal"
)

// FieldRollup is the roll-up of one field in one period. It takes little memory, so that a reader
// can cache many roll-ups.
type FieldRollup struct {
	period int64 // number of the hour or of the day since 1970
	mean   float64
	// The coefficients and exponents of the sum, the minimum, the maximum and the last number.
	sum, low, high, last             int64
	sumExp, lowExp, highExp, lastExp int8
	count                            uint32
	long                             *Field // if set, replaces the count and the four numbers, because one of them does not fit
}

// newFieldRollup returns the roll-up of a field. It shares no memory with the sum of the field.
func newFieldRollup(period int64, f *Field) FieldRollup {
	r := FieldRollup{period: period, mean: meanOf(&f.Sum, f.Count), count: uint32(f.Count)}
	sum, ok := f.Sum.Short()
	ok = ok && f.Count <= math.MaxUint32
	for _, c := range []struct {
		n           varve.Number
		coefficient *int64
		exp         *int8
	}{{sum, &r.sum, &r.sumExp}, {f.Min, &r.low, &r.lowExp}, {f.Max, &r.high, &r.highExp}, {f.Last.Value, &r.last, &r.lastExp}} {
		coefficient, exp, short := c.n.Scaled()
		*c.coefficient, *c.exp = coefficient, int8(exp)
		ok = ok && short
	}
	if !ok {
		r.long = &Field{Count: f.Count, Min: f.Min, Max: f.Max, Last: Point{Value: f.Last.Value}}
		r.long.Sum.AddSum(&f.Sum)
	}
	return r
}

// Start returns the beginning of the period as a number of such periods since 1970.
func (r *FieldRollup) Start() int64 { return r.period }

// Count returns how many numbers the roll-up covers.
func (r *FieldRollup) Count() int64 {
	if r.long != nil {
		return r.long.Count
	}
	return int64(r.count)
}

// Mean returns the float nearest to the mean of the numbers.
func (r *FieldRollup) Mean() float64 { return r.mean }

// AddTo adds the roll-up's numbers to sum.
func (r *FieldRollup) AddTo(sum *decimal.Sum) {
	if r.long != nil {
		sum.AddSum(&r.long.Sum)
		return
	}
	sum.Add(decimal.FromScaled(r.sum, int(r.sumExp)))
}

// Sum returns the float nearest to the sum of the numbers.
func (r *FieldRollup) Sum() float64 {
	if r.long != nil {
		return r.long.Sum.Float64()
	}
	return decimal.FromScaled(r.sum, int(r.sumExp)).Float64()
}

// Min returns the smallest number of the period.
func (r *FieldRollup) Min() varve.Number {
	if r.long != nil {
		return r.long.Min
	}
	return decimal.FromScaled(r.low, int(r.lowExp))
}

// Max returns the largest number of the period.
func (r *FieldRollup) Max() varve.Number {
	if r.long != nil {
		return r.long.Max
	}
	return decimal.FromScaled(r.high, int(r.highExp))
}

// Last returns the number of the reading with the highest position.
func (r *FieldRollup) Last() varve.Number {
	if r.long != nil {
		return r.long.Last.Value
	}
	return decimal.FromScaled(r.last, int(r.lastExp))
}

// meanOf returns the float nearest to the mean of a sum, as [decimal.Sum.Mean] rounds it.
func meanOf(sum *decimal.Sum, count int64) float64 {
	if mean, ok := sum.ShortMean(count); ok {
		return mean.Float64()
	}
	mean := sum.Mean(count)
	return mean.Float64()
}
