package prometheus_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/prometheus"
)

// TestEvaluate_ReservesMemoryUntilClose evaluates queries near the limit of samples, and closes their
// results later. All results together may have four times the samples of one query, so at most eight fit.
// That must hold for queries that read the store and for others. Failed queries must reserve no samples.
func TestEvaluate_ReservesMemoryUntilClose(t *testing.T) {
	w := newWorld(t, false, prometheus.Options{MaxSamples: 1000})
	for i := range 900 {
		w.send(reading(t, "a", noon.Add(time.Duration(i-900)*time.Second), "v", "1"))
	}
	evaluate := func(text string, steps int) (*prometheus.Result, error) {
		return w.promql.Evaluate(context.Background(), prometheus.Query{
			Tenant: varve.DefaultTenant, Text: text, Start: noon.Add(-time.Duration(steps-1) * time.Second), End: noon, Step: time.Second,
		})
	}
	for text, steps := range map[string]int{`vector(1)`: 900, `1`: 900, `count_over_time(vector(1)[8m:1s])`: 10, `v{device="a"}`: 450, `count_over_time(v{device="a"}[12m])`: 10} {
		for round := range 3 {
			for range 9 {
				if r, err := evaluate(text+" + on() group_left() "+text+`{`, steps); err == nil {
					t.Fatalf("an invalid query has a result: %v", r.Value)
				}
				if r, err := evaluate(`label_replace(`+text+`,"","","","")`, steps); err == nil {
					t.Fatalf("a failing query has a result: %v", r.Value)
				}
			}
			var open []*prometheus.Result
			for range 20 {
				r, err := evaluate(text, steps)
				if err != nil {
					if !strings.Contains(err.Error(), "all running queries hold too many samples") {
						t.Fatalf("%s: %v", text, err)
					}
					continue
				}
				open = append(open, r)
			}
			if len(open) < 1 || len(open) > 8 {
				t.Errorf("%s, round %d: %d results fit into memory, want 1 to 8", text, round, len(open))
			}
			for _, r := range open {
				r.Close()
				r.Close()
			}
		}
	}
}

// TestEvaluate_BoundsSteps checks that constant expressions with more steps than the limit of samples are
// refused.
func TestEvaluate_BoundsSteps(t *testing.T) {
	w := newWorld(t, false, prometheus.Options{})
	for _, q := range []prometheus.Query{
		{Text: `count_over_time(vector(1)[10000d:1ms])`, Start: noon},
		{Text: `1 + max_over_time(sum_over_time(vector(1)[1y:1s])[1y:1h])`, Start: noon},
		{Text: `vector(1)`, Start: noon.AddDate(-1, 0, 0), End: noon, Step: time.Second},
	} {
		r, err := w.promql.Evaluate(t.Context(), q)
		if err == nil || !strings.Contains(err.Error(), "steps: choose a shorter range or a longer step, or raise query.max_samples") {
			t.Errorf("%s: %v, %v", q.Text, r, err)
		}
	}
}

// TestEvaluate_ReservesLongRanges checks that queries of more than 292 years reserve memory like others, and
// do not raise the limit of all queries.
func TestEvaluate_ReservesLongRanges(t *testing.T) {
	w := newWorld(t, false, prometheus.Options{MaxSamples: 1000})
	w.send(reading(t, "a", noon.Add(-time.Second), "v", "1"))
	for _, text := range []string{`v{device="a"}`, `vector(1)`, `count_over_time(vector(1)[291y:290y])`} {
		open := 0
		for range 100 {
			r, err := w.promql.Evaluate(t.Context(), prometheus.Query{
				Tenant: varve.DefaultTenant, Text: text, Start: noon.AddDate(-10_000, 0, 0), End: noon, Step: 20 * 365 * 24 * time.Hour,
			})
			if err != nil {
				break
			}
			open++
			t.Cleanup(r.Close)
		}
		if open > 8 {
			t.Errorf("%s: %d results of 500 steps fit into the memory of 4000 samples", text, open)
		}
	}
}

// TestEvaluate_BoundsScannedReadings evaluates queries that use few of many readings. A query may scan ten times
// as many readings as it may have samples.
func TestEvaluate_BoundsScannedReadings(t *testing.T) {
	w := newWorld(t, false, prometheus.Options{MaxSamples: 50})
	for i := range 600 {
		w.send(reading(t, "a", noon.Add(time.Duration(i-600)*time.Second), "v", "1"))
	}
	for minutes, want := range map[int]string{
		7:  "",
		10: "the query scans more than 500 readings, 10 times query.max_samples: select fewer devices or a shorter range, use a range of whole hours (roll-ups), or raise query.max_samples",
	} {
		r, err := w.promql.Evaluate(t.Context(), prometheus.Query{
			Tenant: varve.DefaultTenant, Text: `v{device="a"}`, Start: noon.Add(time.Duration(-minutes) * time.Minute), End: noon, Step: time.Minute, Lookback: time.Second,
		})
		if err != nil {
			if want == "" || !strings.Contains(err.Error(), want) {
				t.Errorf("%d minutes: %v, want %q", minutes, err, want)
			}
			continue
		}
		if r.Close(); want != "" {
			t.Errorf("%d minutes: no error, want %q", minutes, want)
		}
	}
}
