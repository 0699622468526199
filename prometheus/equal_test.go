package prometheus_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/util/annotations"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/prometheus"
	"github.com/varvedb/varve/prometheus/promtest"
)

// oracle is Prometheus' engine over samples in memory. It uses no readings and no roll-ups.
type oracle struct {
	storage.LabelQuerier
	series []oracleSeries
}

type oracleSeries struct {
	labels  labels.Labels
	samples []chunks.Sample
}

type oracleSample struct {
	chunks.Sample // has the methods for histograms, which no test calls
	t             int64
	f             float64
}

func (s oracleSample) ST() int64                { return 0 }
func (s oracleSample) T() int64                 { return s.t }
func (s oracleSample) F() float64               { return s.f }
func (s oracleSample) Type() chunkenc.ValueType { return chunkenc.ValFloat }

func newOracle(samples []promtest.Sample) *oracle {
	o := &oracle{}
	for _, s := range samples {
		n := len(o.series)
		if l := labels.FromMap(s.Labels); n == 0 || labels.Compare(o.series[n-1].labels, l) != 0 {
			o.series = append(o.series, oracleSeries{labels: l})
			n++
		}
		o.series[n-1].samples = append(o.series[n-1].samples, oracleSample{t: s.T, f: s.F})
	}
	slices.SortFunc(o.series, func(a, b oracleSeries) int { return labels.Compare(a.labels, b.labels) })
	return o
}

func (o *oracle) Querier(_, _ int64) (storage.Querier, error) { return o, nil }

func (o *oracle) Close() error { return nil }

func (o *oracle) Select(_ context.Context, _ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
	set := &oracleSet{at: -1}
	for _, s := range o.series {
		if !slices.ContainsFunc(matchers, func(m *labels.Matcher) bool { return !m.Matches(s.labels.Get(m.Name)) }) {
			set.list = append(set.list, storage.NewListSeries(s.labels, s.samples))
		}
	}
	return set
}

type oracleSet struct {
	list []storage.Series
	at   int
}

func (s *oracleSet) Next() bool                        { s.at++; return s.at < len(s.list) }
func (s *oracleSet) At() storage.Series                { return s.list[s.at] }
func (s *oracleSet) Err() error                        { return nil }
func (s *oracleSet) Warnings() annotations.Annotations { return nil }

// evaluate returns the answer of Prometheus' engine to a query.
func (o *oracle) evaluate(q promtest.Query, lookback time.Duration) (parser.Value, error) {
	e := promql.NewEngine(promql.EngineOpts{
		MaxSamples: 50_000_000, Timeout: time.Minute, LookbackDelta: lookback, EnableAtModifier: true, EnableNegativeOffset: true,
		NoStepSubqueryIntervalFn: func(int64) int64 { return 60_000 },
	})
	var prepared promql.Query
	var err error
	if q.Step == 0 {
		prepared, err = e.NewInstantQuery(context.Background(), o, nil, q.Text, q.Start)
	} else {
		prepared, err = e.NewRangeQuery(context.Background(), o, nil, q.Text, q.Start, q.End, q.Step)
	}
	if err != nil {
		return nil, err
	}
	r := prepared.Exec(context.Background())
	return r.Value, r.Err
}

// seriesOf returns the samples of a value, by labels.
func seriesOf(v parser.Value) map[string][]promql.FPoint {
	all := map[string][]promql.FPoint{}
	switch v := v.(type) {
	case promql.Matrix:
		for _, s := range v {
			all[s.Metric.String()] = s.Floats
		}
	case promql.Vector:
		for _, s := range v {
			all[s.Metric.String()] = []promql.FPoint{{T: s.T, F: s.F}}
		}
	case promql.Scalar:
		all["scalar"] = []promql.FPoint{{T: v.T, F: v.V}}
	}
	return all
}

func difference(got, want parser.Value) string {
	if got.Type() != want.Type() {
		return fmt.Sprintf("type %s, want %s", got.Type(), want.Type())
	}
	a, b := seriesOf(got), seriesOf(want)
	for name := range a {
		if _, ok := b[name]; !ok {
			return "unexpected " + name
		}
	}
	for name, points := range b {
		if len(a[name]) != len(points) {
			return fmt.Sprintf("%s has %d points, want %d", name, len(a[name]), len(points))
		}
		for i, p := range points {
			if g := a[name][i]; g.T != p.T || !near(g.F, p.F) {
				return fmt.Sprintf("%s: %v at %d, want %v at %d", name, g.F, g.T, p.F, p.T)
			}
		}
	}
	return ""
}

func near(a, b float64) bool {
	return a == b || math.IsNaN(a) && math.IsNaN(b) || math.Abs(a-b) <= 1e-9*max(1, math.Abs(a), math.Abs(b))
}

// TestEvaluate_EqualsPrometheus compares generated queries with Prometheus' engine over the same
// samples. Both must fail, or have equal answers. One store returns readings one by one, and one returns
// columns.
func TestEvaluate_EqualsPrometheus(t *testing.T) {
	for name, embedded := range map[string]bool{"readings": false, "columns": true} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, embedded, prometheus.Options{Lookback: 5 * time.Minute})
			o := newOracle(w.addFleet())
			if embedded {
				w.clock = noon.Add(3 * time.Hour)
				if _, err := w.engine.Aggregator.Run(t.Context()); err != nil { // without this run, each query would recount the hours
					t.Fatal(err)
				}
			}
			failed, empty, fromRollups := 0, 0, 0
			for i, q := range promtest.Queries(1, 500, noon) {
				want, wantErr := o.evaluate(q, 5*time.Minute)
				got, err := w.promql.Evaluate(context.Background(), prometheus.Query{
					Tenant: varve.DefaultTenant, Text: q.Text, Start: q.Start, End: q.End, Step: q.Step,
				})
				if (err != nil) != (wantErr != nil) {
					t.Errorf("query %d %+v: error %v, want %v", i, q, err, wantErr)
				}
				if err != nil {
					failed++
					continue
				}
				if d := difference(got.Value, want); d != "" {
					t.Errorf("query %d %+v: %s", i, q, d)
				}
				if len(seriesOf(got.Value)) == 0 {
					empty++
				}
				if got.FromRollups > 0 {
					fromRollups++
				}
				got.Close()
			}
			if failed > 50 || empty > 100 || fromRollups < 40 {
				t.Errorf("%d queries failed, %d are empty and %d read roll-ups: the generator is of little use", failed, empty, fromRollups)
			}
			t.Logf("%d failed, %d empty, %d from roll-ups", failed, empty, fromRollups)
		})
	}
}
