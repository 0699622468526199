package prometheus

import (
	"math"
	"sort"
	"time"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/tsdb/chunkenc"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/block"
	"github.com/varvedb/varve/decimal"
)

// samples has the samples of one series, in the order of their times. It implements storage.Series.
type samples struct {
	metric  labels.Labels
	moments moments
	list    []promql.FPoint
	moment  int64 // the evaluation that uses the last sample of list, in milliseconds since 1970; see moments
}

func (s *samples) Labels() labels.Labels { return s.metric }

// Iterator returns an iterator over the samples. It reuses the given one if possible.
func (s *samples) Iterator(it chunkenc.Iterator) chunkenc.Iterator {
	if own, ok := it.(*iterator); ok {
		*own = iterator{list: s.list, at: -1}
		return own
	}
	return &iterator{list: s.list, at: -1}
}

// add appends a sample. It replaces the last sample of the list if both belong to the same moment, or have
// the same millisecond.
func (s *samples) add(t int64, f float64) {
	if n := len(s.list); n > 0 && t <= s.moment {
		s.list[n-1] = promql.FPoint{T: t, F: f}
		return
	}
	s.list, s.moment = append(s.list, promql.FPoint{T: t, F: f}), s.moments.atOrAfter(t)
}

// lastMillisecond is the last millisecond that event times can have.
const lastMillisecond = math.MaxInt64/int64(time.Millisecond) - 1

// millisecond returns the millisecond that contains an event time. Event times are not negative.
func millisecond(nanoseconds int64) int64 { return nanoseconds / int64(time.Millisecond) }

// addColumn appends the numbers of a column, in the order of their times. The first call with numbers
// reserves memory for its samples only, because a page may have many sparse columns.
func (s *samples) addColumn(p *block.Part, c *block.Column) {
	numbers := c.CountNumbers(p.From, p.To)
	if numbers == 0 {
		return
	}
	if s.list == nil {
		s.list = make([]promql.FPoint, 0, s.moments.room(numbers, millisecond(p.Times[p.To-1])))
	}
	c.Decode()
	if c.Plain {
		s.addPlain(p.Times[p.From:p.To], c.Coefs[p.From:p.To], scaleOf(c.Least))
		return
	}
	for row := p.From; row < p.To; row++ {
		if v := c.Value(row); v.Kind() == varve.KindNumber {
			s.add(millisecond(p.Times[row]), v.Number().Float64())
		}
	}
}

// addPlain adds one sample for each moment: the number at the last of its times. It converts only the
// coefficients of these samples to floats.
func (s *samples) addPlain(times, coefs []int64, scale scale) {
	for from := 0; from < len(times); {
		t := millisecond(times[from])
		moment := s.moment
		if len(s.list) == 0 || t > moment {
			moment = s.moments.atOrAfter(t)
		}
		to, end := from+1, (min(moment, lastMillisecond)+1)*int64(time.Millisecond)
		for to < len(times) && times[to] < end {
			to++
		}
		s.add(millisecond(times[to-1]), scale.float(coefs[to-1]))
		from = to
	}
}

// scale converts numbers of the form coefficient × 10^exp to floats. All of them have the same exponent.
type scale struct {
	exp     int
	divisor float64 // 10^-exp, if a float represents it exactly; otherwise 0
}

// maxExactPower is the largest exponent of a power of 10 that a float represents exactly.
const maxExactPower = 22

// maxExactInt is the limit below which a float represents every integer exactly.
const maxExactInt = 1 << 53

func scaleOf(exp int64) scale {
	s := scale{exp: int(exp)}
	if exp <= 0 && exp >= -maxExactPower {
		s.divisor = 1
		for range -exp {
			s.divisor *= 10
		}
	}
	return s
}

// float returns the float nearest to the number with a coefficient. The division of two exact floats
// rounds once, so its result is the nearest float.
func (s *scale) float(coefficient int64) float64 {
	if s.divisor != 0 && coefficient < maxExactInt && coefficient > -maxExactInt {
		return float64(coefficient) / s.divisor
	}
	return decimal.FromScaled(coefficient, s.exp).Float64()
}

// iterator iterates over samples. It implements chunkenc.Iterator.
type iterator struct {
	list []promql.FPoint
	at   int // index of the current sample; -1 before the first one
}

func (it *iterator) Next() chunkenc.ValueType {
	if it.at+1 >= len(it.list) {
		it.at = len(it.list)
		return chunkenc.ValNone
	}
	it.at++
	return chunkenc.ValFloat
}

// Seek moves to the first sample at or after t. It never moves back.
func (it *iterator) Seek(t int64) chunkenc.ValueType { //nolint:govet // the method of chunkenc.Iterator, not of io.Seeker
	from := max(it.at, 0)
	if from < len(it.list) && it.list[from].T < t {
		// Most seeks move by a few samples. So search in steps that double, and then within the last step.
		end := from + 1
		for step := 1; end < len(it.list) && it.list[end].T < t; step *= 2 {
			from, end = end, end+step
		}
		end = min(end, len(it.list))
		from += sort.Search(end-from, func(i int) bool { return it.list[from+i].T >= t })
	}
	if it.at = from; from >= len(it.list) {
		return chunkenc.ValNone
	}
	return chunkenc.ValFloat
}

func (it *iterator) At() (int64, float64) { return it.list[it.at].T, it.list[it.at].F }

func (it *iterator) AtT() int64 { return it.list[it.at].T }

// AtST returns 0: samples have no start time.
func (it *iterator) AtST() int64 { return 0 }

// AtHistogram returns nothing: no sample is a histogram.
func (it *iterator) AtHistogram(*histogram.Histogram) (int64, *histogram.Histogram) { return 0, nil }

// AtFloatHistogram returns nothing: no sample is a histogram.
func (it *iterator) AtFloatHistogram(*histogram.FloatHistogram) (int64, *histogram.FloatHistogram) {
	return 0, nil
}

// Err returns nil: all samples were read before.
func (it *iterator) Err() error { return nil }
