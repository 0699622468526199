package prometheus

import (
	"math"
	"sync/atomic"
	"time"

	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"

	"github.com/varvedb/varve"
)

// maxQueries limits the samples of all running queries together, as a multiple of the limit of one query.
const maxQueries = 4

// memory counts the samples that a query and its result have in memory. It adds them to the sum of all
// queries.
type memory struct {
	all      *atomic.Int64
	limit    int64 // maximum number of samples of all queries together
	reserved atomic.Int64
}

// reserve counts further samples, and fails above the limit of all queries. Even after a failure, the
// samples count until release.
func (m *memory) reserve(samples int64) error {
	m.reserved.Add(samples)
	if m.all.Add(samples) > m.limit {
		return varve.Errorf(varve.Busy, "all running queries hold too many samples: send the query again later")
	}
	return nil
}

// release subtracts all reserved samples from the sum. A second call has no effect.
func (m *memory) release() { m.all.Add(-m.reserved.Swap(0)) }

// count adds samples that were read, and fails above the limit of a query or of all queries.
func (v *queryStorage) count(samples int) error {
	if n := v.read.Add(int64(samples)); n > int64(v.opts.MaxSamples) {
		return varve.Errorf(varve.Invalid, "the query reads more than %d samples: select fewer devices or a shorter range, use a range of whole hours (roll-ups), or raise query.max_samples", v.opts.MaxSamples)
	}
	return v.reserve(int64(samples))
}

// scannedPerSample limits the readings that a query scans, as a multiple of the limit of samples. Prometheus
// counts only the samples that a query has in memory: of an instant selector, one per step. A query with
// few steps may scan many more readings, which only its time limit would end.
const scannedPerSample = 10

// countScanned adds readings that were scanned, and fails above the limit of a query.
func (v *queryStorage) countScanned(readings int) error {
	limit := scannedPerSample * int64(v.opts.MaxSamples)
	if v.scanned.Add(int64(readings)) > limit {
		return varve.Errorf(varve.Invalid, "the query scans more than %d readings, %d times query.max_samples: select fewer devices or a shorter range, use a range of whole hours (roll-ups), or raise query.max_samples", limit, scannedPerSample)
	}
	return nil
}

// reserveSeries counts the samples that promql computes from the series of a selector: one per step
// and series.
func (v *queryStorage) reserveSeries(series int, hints *storage.SelectHints) error {
	n := float64(series) * steps(float64(hints.End)-float64(hints.Start), float64(hints.Step))
	return v.reserve(int64(min(n, float64(v.opts.MaxSamples))))
}

// reserveSteps counts one sample for each step of each part of a query, so that queries without
// selectors count, too. It fails if a part has more steps than the limit of samples.
func (v *queryStorage) reserveSteps(s *parser.EvalStmt) error {
	limit := float64(v.opts.MaxSamples)
	sum, largest := countSteps(s.Expr, float64(s.End.UnixMilli())-float64(s.Start.UnixMilli()), s.Interval)
	if largest > limit {
		return varve.Errorf(varve.Invalid, "the query has more than %d steps: choose a shorter range or a longer step, or raise query.max_samples", v.opts.MaxSamples)
	}
	return v.reserve(int64(min(sum, limit)))
}

// steps returns the number of steps in a range of time, both in milliseconds. They are floats, because a
// range may exceed the 292 years of a time.Duration, and a subquery has more steps than an int64 can count.
func steps(length, step float64) float64 {
	if step <= 0 {
		return 1
	}
	return math.Floor(max(length, 0)/step) + 1
}

// countSteps returns the number of steps of all parts of an expression, and of the part with the most
// steps. The length is in milliseconds.
func countSteps(node parser.Node, length float64, step time.Duration) (sum, largest float64) {
	sum = steps(length, milliseconds(step))
	largest = sum
	switch node := node.(type) {
	case *parser.StepInvariantExpr:
		length = 0
	case *parser.SubqueryExpr:
		length += milliseconds(node.Range)
		if step = node.Step; step == 0 {
			step = defaultSubqueryStep
		}
	}
	for child := range parser.ChildrenIter(node) {
		s, l := countSteps(child, length, step)
		sum, largest = sum+s, max(largest, l)
	}
	return sum, largest
}

// milliseconds returns a duration in milliseconds, with its fraction.
func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
