package aggregate_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/aggregate"
	"pgregory.net/rapid"
)

var rollupFunctions = []string{"numbers", "sum", "mean", "min", "max", "first", "last"}

// TestRollups_EqualBruteForce compares answers from roll-ups with the oracle, before and after
// the aggregator recounts the dirty hours.
func TestRollups_EqualBruteForce(t *testing.T) {
	var steps []oracleStep
	for _, s := range oracleSteps {
		if s.group != nil || s.seconds%3600 == 0 {
			steps = append(steps, s)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		defer w.close()
		drawReadings(t, w)
		if rapid.Bool().Draw(t, "rest") {
			w.clock = w.clock.Add(3 * time.Hour)
			if _, err := w.engine.Aggregator.Run(context.Background()); err != nil {
				t.Fatalf("aggregator: %v", err)
			}
		}
		name := rapid.SampledFrom([]string{"UTC", "Europe/Berlin", "America/New_York"}).Draw(t, "zone")
		s := rapid.SampledFrom(steps).Draw(t, "step")
		names := drawFunctions(t, rollupFunctions)
		q := aggregate.Query{
			Tenant: varve.DefaultTenant, Stream: "weather", Window: varve.AllTime(), Step: parseStep(t, s.text, name), Functions: functions(t, names...),
			Devices: propertyDevices[:2], Source: aggregate.FromRollups, Merge: rapid.Bool().Draw(t, "merge"),
		}
		if len(w.model) > 0 && rapid.Bool().Draw(t, "window") {
			from := rapid.SampledFrom(w.model).Draw(t, "from").Time.Truncate(time.Hour)
			q.Window = varve.Window{From: from, To: from.Add(time.Duration(rapid.IntRange(0, 900).Draw(t, "hours")) * time.Hour)}
		}
		w.model = onlyNumbers(w.model)
		compareRows(t, w, &q, &s, names, zone(t, name), w.run(q).Rows)
	})
}

// TestRollups_OutliveReadings checks that answers from roll-ups still include expired readings, and
// answers from readings do not.
func TestRollups_OutliveReadings(t *testing.T) {
	w := newWorld(t)
	defer w.close()
	w.send(reading(t, "a", start, "", "t", "21.40"), reading(t, "a", start.Add(time.Minute), "", "t", "22"))
	w.clock = w.clock.Add(370 * 24 * time.Hour)
	q := aggregate.Query{
		Tenant: varve.DefaultTenant, Stream: "weather", Window: varve.AllTime(), Step: parseStep(t, "1d", "Europe/Berlin"),
		Devices: []string{"a"}, Functions: functions(t, "mean", "first"),
	}
	wantLines(t, &q, w.run(q))
	q.Source = aggregate.FromRollups
	wantLines(t, &q, w.run(q), "a 11-19T23:00 2 t: mean=21.7 first=21.40")
}

func TestRollups_RefuseOtherQueries(t *testing.T) {
	w := newWorld(t)
	defer w.close()
	w.send(reading(t, "a", start, "", "t", "21.40"))
	late := aggregate.Query{
		Tenant: varve.DefaultTenant, Stream: "weather", Window: varve.Window{From: start, To: start.Add(1)}, Source: aggregate.FromRollups,
		Step: parseStep(t, "1h", "UTC"), Devices: []string{"a"}, Functions: functions(t, "mean"),
	}
	if _, err := w.subject.Run(t.Context(), late); err == nil || !strings.HasPrefix(err.Error(), "to: source=rollups requires whole hours") {
		t.Errorf("a window that ends after %s: %v", start, err)
	}
	for _, c := range []struct {
		step, zone, function string
		from                 time.Time
		param                string
	}{
		{"1h", "UTC", "p50", time.Unix(0, 0), "functions"},
		{"1h", "UTC", "count", time.Unix(0, 0), "functions"},
		{"1h", "UTC", "mean", start.Add(-time.Minute), "from"},
		{"30m", "UTC", "mean", time.Unix(0, 0), "step"},
		{"1d", "Asia/Kolkata", "mean", time.Unix(0, 0), "step"},
	} {
		q := aggregate.Query{
			Tenant: varve.DefaultTenant, Stream: "weather", Window: varve.Window{From: c.from, To: varve.AllTime().To}, Source: aggregate.FromRollups,
			Step: parseStep(t, c.step, c.zone), Devices: []string{"a"}, Functions: functions(t, c.function),
		}
		_, err := w.subject.Run(t.Context(), q)
		if varve.FailureOf(err) != varve.Invalid || !strings.HasPrefix(err.Error(), c.param+": ") {
			t.Errorf("%+v: %v", c, err)
		}
	}
	off := aggregate.New(aggregate.Options{Readings: w.engine.Query})
	q := aggregate.Query{
		Tenant: varve.DefaultTenant, Stream: "weather", Window: varve.AllTime(), Source: aggregate.FromRollups,
		Step: parseStep(t, "1h", "UTC"), Devices: []string{"a"}, Functions: functions(t, "mean"),
	}
	if _, err := off.Run(t.Context(), q); varve.FailureOf(err) != varve.Conflict {
		t.Errorf("without roll-ups: %v", err)
	}
}

// onlyNumbers removes all fields that are not numbers, because roll-ups do not have them.
func onlyNumbers(readings []varve.Reading) []varve.Reading {
	for i := range readings {
		readings[i].Fields = slices.DeleteFunc(readings[i].Fields, func(f varve.Field) bool { return f.Value.Kind() != varve.KindNumber })
	}
	return readings
}
