package prometheus

import (
	"context"
	"slices"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/decimal"
	"github.com/varvedb/varve/rollup"
)

// bucketed describes an aggregate over time that is computed from roll-ups.
type bucketed struct {
	function string // avg, min, max, sum, count, last, or present for 1
	length   int64  // range of the function, in milliseconds
}

// rollupFunctions maps the functions that are computed from roll-ups to their aggregates. All other
// functions need values that roll-ups lack, such as the squares for a deviation.
var rollupFunctions = map[string]string{
	"avg_over_time": "avg", "min_over_time": "min", "max_over_time": "max", "sum_over_time": "sum", "count_over_time": "count",
	"last_over_time": "last", "present_over_time": "present", absentOverTime: "present",
}

const absentOverTime = "absent_over_time"

// functionOfSample returns the function that replaces a function of rollupFunctions in a query. The
// argument of the replacement is a range with a single sample, the aggregate. A function with a special
// treatment of labels or of missing samples is not replaced.
func functionOfSample(name string) string {
	if name == "last_over_time" || name == absentOverTime {
		return name
	}
	return "max_over_time"
}

const (
	hour = int64(time.Hour / time.Millisecond)
	day  = 24 * hour
)

// rewrite replaces the calls that roll-ups answer. The selector of a replaced call returns one sample per
// step, whose value is the aggregate. The maximum of one sample is the sample itself.
//
//	avg_over_time(temperature[6h])  ──▶  max_over_time(temperature{marker}[1ms])
func (v *queryStorage) rewrite(s *parser.EvalStmt) {
	parser.Inspect(s.Expr, func(node parser.Node, path []parser.Node) error {
		call, ok := node.(*parser.Call)
		if !ok || len(call.Args) != 1 || rollupFunctions[call.Func.Name] == "" {
			return nil
		}
		for _, p := range path {
			if _, nested := p.(*parser.SubqueryExpr); nested {
				return nil
			}
		}
		ranged, ok := call.Args[0].(*parser.MatrixSelector)
		if !ok {
			return nil
		}
		selector, ok := ranged.VectorSelector.(*parser.VectorSelector)
		if !ok || selector.Timestamp != nil || selector.StartOrEnd != 0 || !isAligned(s, ranged.Range, selector.OriginalOffset) || selectsLag(selector.LabelMatchers) {
			return nil
		}
		marker := &labels.Matcher{Type: labels.MatchEqual, Name: "__rollup__"}
		v.rollups[marker] = bucketed{rollupFunctions[call.Func.Name], ranged.Range.Milliseconds()}
		selector.LabelMatchers = append(slices.Clone(selector.LabelMatchers), marker)
		call.Func, ranged.Range = parser.Functions[functionOfSample(call.Func.Name)], time.Millisecond
		return nil
	})
}

// selectsLag reports whether matchers select lagMetric, which has no roll-ups.
func selectsLag(matchers []*labels.Matcher) bool {
	names, _ := namesOf(nameLabel, matchers)
	return slices.Contains(names, lagMetric)
}

// isAligned reports whether every window of a range selector begins and ends at whole hours.
func isAligned(s *parser.EvalStmt, length, offset time.Duration) bool {
	return length > 0 && length%time.Hour == 0 && s.Interval%time.Hour == 0 && s.Start.Add(-offset).UnixNano()%int64(time.Hour) == 0
}

// bucketsOf removes the marker from matchers, and returns the aggregate that it stands for.
func (v *queryStorage) bucketsOf(matchers *[]*labels.Matcher) (b bucketed, marked bool) {
	list := *matchers
	for i, m := range list {
		if b, marked = v.rollups[m]; marked {
			*matchers = slices.Delete(slices.Clone(list), i, i+1)
			return b, true
		}
	}
	return b, false
}

// countRollups returns 1 if a series has roll-ups, else 0.
func (e *Engine) countRollups(ctx context.Context, of varve.Series) (n int, err error) {
	q := rollup.Query{Series: of, Period: rollup.Daily, Window: varve.AllTime(), Fields: []string{"_"}, Limit: 1}
	for n == 0 {
		var page rollup.Page
		err := e.opts.InTurn(ctx, func() (err error) {
			page, err = e.opts.Rollups.Read(ctx, q)
			return err
		})
		if n = len(page.Rollups); err != nil || page.Next.IsZero() {
			return n, err
		}
		q.Window.From = page.Next
	}
	return n, nil
}

// readRollups returns one sample per step and field: the aggregate of the window that ends at the
// step.
func (v *queryStorage) readRollups(ctx context.Context, t *target, b bucketed, hints *storage.SelectHints, matchers []*labels.Matcher) ([]*samples, error) {
	step := max(hints.Step, hour)
	q := rollup.Query{Series: t.series, Period: rollup.Hourly, Window: windowOf(hints.Start-b.length, hints.End-1), Limit: rollup.MaxLimit}
	if !q.Window.From.Before(q.Window.To) {
		return nil, nil
	}
	if b.length%day == 0 && step%day == 0 && hints.Start%day == 0 || b.length%day == 0 && hints.Start == hints.End && hints.Start%day == 0 {
		q.Period = rollup.Daily
	}
	q.Fields, _ = namesOf(nameLabel, matchers)
	r := rollupReader{queryStorage: v, buckets: b, first: hints.Start, last: hints.End, step: step, collector: collector{target: t, matchers: matchers}}
	if len(q.Fields) == 1 {
		return r.readField(ctx, &q)
	}
	for {
		var page rollup.Page
		err := v.opts.InTurn(ctx, func() (err error) {
			page, err = v.opts.Rollups.Read(ctx, q)
			return err
		})
		if err != nil {
			return nil, err
		}
		for i := range page.Rollups {
			r.add(&page.Rollups[i])
		}
		if err := v.count(r.takeNew()); err != nil {
			return nil, err
		}
		if page.Next.IsZero() {
			break
		}
		q.Window.From = page.Next
	}
	return r.finish(ctx)
}

// rollupReader converts the roll-ups of a device in a stream to samples.
type rollupReader struct {
	*queryStorage
	collector
	buckets           bucketed
	first, last, step int64
	fields            map[*samples][]point
	added             int // number of points since the last call of takeNew
}

// takeNew returns the number of points that were read since its last call.
func (r *rollupReader) takeNew() int {
	n := r.added
	r.added = 0
	return n
}

// point is the part of a roll-up of a field that an aggregate needs.
type point struct {
	start int64 // start of the roll-up's period, in milliseconds since 1970
	count int64
	sum   decimal.Sum
	value varve.Number // the minimum, the maximum or the last number, as the function requires
}

func (r *rollupReader) add(of *rollup.Rollup) {
	if r.fields == nil {
		r.fields = map[*samples][]point{}
	}
	for i := range of.Fields {
		f := &of.Fields[i]
		s := r.field(f.Name)
		if s == nil {
			continue
		}
		p := point{start: of.Start.UnixMilli(), count: f.Count}
		switch r.buckets.function {
		case "avg", "sum":
			p.sum = f.Sum
		case "min":
			p.value = f.Min
		case "max":
			p.value = f.Max
		case "last":
			p.value = f.Last.Value
		}
		r.fields[s] = append(r.fields[s], p)
		r.added++
	}
}

// finish computes the samples of all fields. It may take long for many steps and long windows, so it
// fails when ctx ends.
func (r *rollupReader) finish(ctx context.Context) ([]*samples, error) {
	for s, points := range r.fields {
		from := 0
		for at := r.first; at <= r.last; at += r.step {
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			for from < len(points) && points[from].start < at-r.buckets.length {
				from++
			}
			to := from
			for to < len(points) && points[to].start < at {
				to++
			}
			if to > from {
				s.add(at, aggregateOf(points[from:to], r.buckets.function))
			}
		}
	}
	return r.series(), nil
}

// aggregateOf returns the float nearest to the exact aggregate of roll-ups.
func aggregateOf(points []point, function string) float64 {
	count, bound := points[0].count, points[0].value
	for i := 1; i < len(points); i++ {
		p := &points[i]
		count += p.count
		if function == "min" && p.value.Compare(bound) < 0 || function == "max" && p.value.Compare(bound) > 0 {
			bound = p.value
		}
	}
	switch function {
	case "present":
		return 1
	case "last":
		return points[len(points)-1].value.Float64()
	case "min", "max":
		return bound.Float64()
	case "count":
		return float64(count)
	}
	sum := &points[0].sum
	if len(points) > 1 {
		sum = &decimal.Sum{} // a new sum, because the sums of the roll-ups must not change
		for i := range points {
			sum.AddSum(&points[i].sum)
		}
	}
	if function == "sum" {
		return sum.Float64()
	}
	if mean, ok := sum.ShortMean(count); ok {
		return mean.Float64()
	}
	mean := sum.Mean(count)
	return mean.Float64()
}
