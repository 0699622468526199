package rollup_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/decimal"
	"github.com/varvedb/varve/rollup"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/local"
	"github.com/varvedb/varve/store/mem"
)

// BenchmarkRead_Stored reads the hourly means of a day from stored partials in the embedded
// store.
func BenchmarkRead_Stored(b *testing.B) {
	s, err := local.Open(local.Options{Dir: b.TempDir(), MinFree: -1})
	if err != nil {
		b.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			b.Error(err)
		}
	}()
	w := newWorld(b)
	at := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	for i := range 24 * 60 {
		r := w.reading("a", at.Add(time.Duration(i)*time.Minute))
		r.Fields = []varve.Field{
			{Name: "battery", Value: varve.IntValue(77)}, {Name: "humidity", Value: varve.NumberValue(decimal.FromScaled(int64(450+i%20), -1))},
			{Name: "temperature", Value: varve.NumberValue(decimal.FromScaled(int64(224+i%30), -1))},
		}
		w.send(0, nil, r)
	}
	w.clock = w.clock.Add(3 * time.Hour)
	(&steps{world: w}).finish()
	page, err := w.store.Query(b.Context(), itemsOf("a"))
	if err == nil {
		err = s.PutAll(b.Context(), page.Items)
	}
	if err != nil {
		b.Fatal(err)
	}
	r := rollup.NewReader(s, w.source(w.now), w.resent)
	q := rollup.Query{Series: w.reading("a", at).Series, Period: rollup.Hourly, Window: varve.Window{From: at, To: at.Add(24 * time.Hour)}, Fields: []string{"temperature"}}
	for b.Loop() {
		p, err := r.Read(b.Context(), q)
		if err != nil || len(p.Rollups) != 24 {
			b.Fatal(len(p.Rollups), err)
		}
		for i := range p.Rollups {
			f := p.Rollups[i].Field("temperature")
			f.Sum.Mean(f.Count)
		}
	}
}

// BenchmarkMarkDirty measures MarkDirty for 5,000 readings of 1,000 devices whose hours have
// markers already.
func BenchmarkMarkDirty(b *testing.B) {
	at := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	m := rollup.NewTracker(mem.New(nil), func() time.Time { return at.Add(30 * time.Hour) })
	var readings []varve.Reading
	for i := range 5000 {
		readings = append(readings, bare(fmt.Sprintf("dev-%04d", i%1000), at.Add(time.Duration(i/1000)*time.Minute)))
	}
	verdicts := make([]varve.Verdict, len(readings))
	for b.Loop() {
		if _, err := m.MarkDirty(b.Context(), at.Add(30*time.Hour), readings, verdicts); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/5000, "ns/reading")
}

// listSource is a source that returns the readings of a list as first copies.
type listSource []varve.Reading

func (g listSource) ScanCopies(_ context.Context, _ varve.Series, w varve.Window, scan store.CopyScanner) error {
	for i := range g {
		if w.Contains(g[i].Time) {
			if err := scan.Copy(store.Copy{Reading: &g[i], First: true}); err != nil {
				return err
			}
		}
	}
	return nil
}

// counting returns a reader and a query for a day without stored partials, so that a read must
// recount. The event times of the readings are spread evenly over the given duration. The reading
// with index i has the fields names(i).
func counting(t testing.TB, over time.Duration, readings int, names func(i int) []string) (*rollup.Reader, rollup.Query) {
	day := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	raw := make(listSource, readings)
	for i := range raw {
		raw[i] = bare("a", day.Add(over/time.Duration(readings)*time.Duration(i)))
		raw[i].ID, raw[i].Arrived = varve.HashID(uint64(i)), raw[i].Time
		for j, name := range names(i) {
			raw[i].Fields = append(raw[i].Fields, varve.Field{Name: name, Value: varve.NumberValue(decimal.FromScaled(int64(224+(i+j)%30), -1))})
		}
	}
	items, clock := mem.New(nil), func() time.Time { return day.Add(12 * time.Hour) }
	if _, err := rollup.NewTracker(items, clock).MarkDirty(t.Context(), day, raw, make([]varve.Verdict, readings)); err != nil {
		t.Fatal(err)
	}
	return rollup.NewReader(items, raw, rollup.IgnoreResent), rollup.Query{
		Series: raw[0].Series, Period: rollup.Daily, Window: varve.Window{From: day, To: day.Add(24 * time.Hour)},
	}
}

// distinct returns a function that returns n sorted field names for each reading. No two readings
// share a name.
func distinct(n int) func(i int) []string {
	return func(i int) (names []string) {
		for j := range n {
			names = append(names, fmt.Sprintf("f%03d-%d", (i*7919+j*104729)%1000, i*n+j))
		}
		slices.Sort(names)
		return names
	}
}

// BenchmarkRead_Recount measures recounts of readings whose fields are few, alternating, many, or
// different in each reading.
func BenchmarkRead_Recount(b *testing.B) {
	few, many := []string{"battery", "humidity", "temperature"}, distinct(256)(0)
	turns := [][]string{{"battery", "temperature"}, {"humidity", "wind"}}
	for _, c := range []struct {
		name     string
		over     time.Duration
		readings int
		names    func(i int) []string
	}{
		{"3 fields", 24 * time.Hour, 1440, func(int) []string { return few }},
		{"2 of 4 fields", 24 * time.Hour, 1440, func(i int) []string { return turns[i%2] }},
		{"256 fields", 24 * time.Hour, 1440, func(int) []string { return many }},
		{"256 new fields each", time.Hour, 400, distinct(256)},
	} {
		b.Run(c.name, func(b *testing.B) {
			r, q := counting(b, c.over, c.readings, c.names)
			for b.Loop() {
				if p, err := r.Read(b.Context(), q); err != nil || len(p.Rollups) != 1 || p.Rollups[0].Readings != int64(c.readings) {
					b.Fatal(len(p.Rollups), err)
				}
			}
		})
	}
}
