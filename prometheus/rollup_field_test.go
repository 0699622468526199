package prometheus_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/prometheus"
)

// TestRollups_EqualReadings compares aggregates from roll-ups, which are cached in memory, with
// aggregates from readings. Late readings are written and hours are recounted between the queries.
func TestRollups_EqualReadings(t *testing.T) {
	for name, embedded := range map[string]bool{"mem": false, "local": true} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, embedded, prometheus.Options{})
			plain := prometheus.New(prometheus.Options{Readings: w.engine.Query, Streams: w.engine.Streams, Devices: w.engine.Devices, Now: w.now})
			random := rand.New(rand.NewPCG(1, 2))
			last, asked := noon.Truncate(24*time.Hour), 0
			for round := range 25 {
				var list []varve.Reading
				for range random.IntN(30) {
					// No reading is at a whole hour, because roll-ups and PromQL would assign it to different windows.
					at := last.Add(-time.Duration(random.IntN(40*24))*time.Hour - time.Duration(1+random.IntN(59))*time.Minute)
					list = append(list, reading(t, fmt.Sprint("d", random.IntN(3)), at, "v", fmt.Sprint(float64(random.IntN(2000)-1000)/8), "u", fmt.Sprint(random.Int64N(1e17))))
				}
				w.send(list...)
				w.clock = w.clock.Add(time.Duration(random.IntN(100)) * time.Minute)
				if random.IntN(2) == 0 {
					if _, err := w.engine.Aggregator.Run(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				for range 4 {
					pick := func(list ...string) string { return list[random.IntN(len(list))] }
					text := fmt.Sprintf(`%s_over_time(%s{stream="weather"}[%s])`, pick("avg", "min", "max", "sum", "count", "last", "present"), pick("v", "u"), pick("1h", "1h", "2h", "24h", "48h"))
					step := []time.Duration{time.Hour, 3 * time.Hour, 24 * time.Hour}[random.IntN(3)]
					q := prometheus.Query{Tenant: varve.DefaultTenant, Text: text, Start: last.Add(-time.Duration(random.IntN(42)) * 24 * time.Hour), End: last, Step: step}
					asked += w.compareWith(plain, q, fmt.Sprint("round ", round))
				}
			}
			if asked < 50 {
				t.Errorf("only %d answers have series", asked)
			}
		})
	}
}

// compareWith compares the answers to a query with the answer of another engine. It evaluates the query
// alone, and as a part of larger expressions. It returns 1 if the last answer has series, and 0 otherwise.
func (w *world) compareWith(other *prometheus.Engine, q prometheus.Query, what string) (found int) {
	w.t.Helper()
	for _, text := range []string{q.Text, "(" + q.Text + ")", q.Text + " * 1"} {
		q.Text = text
		want, err := other.Evaluate(context.Background(), q)
		if err != nil {
			w.t.Fatal(err)
		}
		got, err := w.promql.Evaluate(context.Background(), q)
		if err != nil {
			w.t.Fatal(err)
		}
		if d := difference(got.Value, want.Value); d != "" || got.FromRollups != 1 {
			w.t.Fatalf("%s: %+v: %s, %d from roll-ups", what, q, d, got.FromRollups)
		}
		found = min(1, len(seriesOf(got.Value)))
		got.Close()
		want.Close()
	}
	return found
}

// TestRollups_RefuseEqualLabels checks that a result of several fields of a device fails as in
// Prometheus, even if the result consists only of roll-ups.
func TestRollups_RefuseEqualLabels(t *testing.T) {
	w := newWorld(t, false, prometheus.Options{})
	w.send(reading(t, "a", at(20, 8, 30), "v", "1", "u", "2"))
	for _, text := range []string{`max_over_time({device="a"}[1h])`, `max_over_time({device="a"}[1h]) * 1`} {
		lines, _ := w.ask(prometheus.Query{Text: text, Start: at(20, 9, 0), End: at(20, 11, 0), Step: time.Hour})
		if len(lines) != 1 || lines[0] != "vector cannot contain metrics with the same labelset" {
			t.Errorf("%s: %q", text, lines)
		}
	}
}
