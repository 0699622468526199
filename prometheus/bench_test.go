package prometheus_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/decimal"
	"github.com/varvedb/varve/prometheus"
)

// fill writes the given number of readings of each device, up to noon. Each reading has three fields. Then
// fill moves the clock to three hours later, and computes the roll-ups.
func (w *world) fill(devices, readings int, interval time.Duration) {
	w.t.Helper()
	list := make([]varve.Reading, readings)
	for i := range devices {
		for j := range list {
			scaled := func(n int, exp int) varve.Value { return varve.NumberValue(decimal.FromScaled(int64(n), exp)) }
			list[j] = varve.Reading{
				Series: varve.Series{Tenant: varve.DefaultTenant, Stream: "weather", Device: fmt.Sprintf("dev-%03d", i)},
				Time:   noon.Add(time.Duration(j-readings)*interval + time.Second),
				Fields: []varve.Field{
					{Name: "battery", Value: scaled(77-j%3, 0)}, {Name: "humidity", Value: scaled(450+(i+j)%200, -1)}, {Name: "temperature", Value: scaled(224+(i*j)%300, -1)},
				},
			}
		}
		w.send(list...)
	}
	w.clock = noon.Add(3 * time.Hour)
	for n := 1; n > 0; {
		var err error
		if n, err = w.engine.Aggregator.Run(context.Background()); err != nil {
			w.t.Fatal(err)
		}
	}
}

func benchmark(b *testing.B, w *world, q prometheus.Query, points int) {
	b.Helper()
	q.Tenant = varve.DefaultTenant
	var body []byte
	for b.Loop() {
		r, err := w.promql.Evaluate(context.Background(), q)
		if err != nil {
			b.Fatal(err)
		}
		n := 0
		for _, s := range r.Value.(promql.Matrix) {
			n += len(s.Floats)
		}
		if body = r.AppendJSON(body[:0]); n != points {
			b.Fatalf("%d points, want %d", n, points)
		}
		r.Close()
	}
}

// BenchmarkEvaluate_Day reads a day of one device and of 100 devices, with one reading per minute.
func BenchmarkEvaluate_Day(b *testing.B) {
	w := newWorld(b, true, prometheus.Options{})
	w.fill(100, 24*60, time.Minute)
	day := func(text string, step time.Duration) prometheus.Query {
		return prometheus.Query{Text: text, Start: noon.Add(-24*time.Hour + step), End: noon, Step: step}
	}
	b.Run("one device, each minute", func(b *testing.B) {
		benchmark(b, w, day(`temperature{device="dev-007"}`, time.Minute), 1440)
	})
	b.Run("100 devices, five minutes", func(b *testing.B) {
		benchmark(b, w, day(`temperature{stream="weather"}`, 5*time.Minute), 100*288)
	})
	b.Run("100 devices, mean of all", func(b *testing.B) {
		benchmark(b, w, day(`avg(avg_over_time(temperature{stream="weather"}[10m]))`, 5*time.Minute), 288)
	})
}

// BenchmarkEvaluate_Year reads 360 days of hourly and of daily means of 100 devices from roll-ups, which
// are in memory after the first query.
func BenchmarkEvaluate_Year(b *testing.B) {
	w := newWorld(b, true, prometheus.Options{})
	w.fill(100, 365*24, time.Hour)
	for name, length := range map[string]time.Duration{"hours": time.Hour, "days": 24 * time.Hour} {
		b.Run(name, func(b *testing.B) {
			end := noon.Truncate(24 * time.Hour)
			q := prometheus.Query{Tenant: varve.DefaultTenant, Text: fmt.Sprintf(`avg_over_time(temperature{stream="weather"}[%s])`, length), Start: end.Add(-360 * 24 * time.Hour), End: end, Step: length}
			r, err := w.promql.Evaluate(context.Background(), q)
			if err != nil {
				b.Fatal(err)
			}
			r.Close()
			benchmark(b, w, q, 100*(int(360*24*time.Hour/length)+1))
		})
	}
}
