package rollup_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/decimal"
	"github.com/varvedb/varve/rollup"
	"github.com/varvedb/varve/store/local"
	"github.com/varvedb/varve/store/mem"
)

// BenchmarkDayAtRest reads the hourly means of a day, at rest in the embedded
// store.
func BenchmarkDayAtRest(b *testing.B) {
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
	// What is at rest is in the model's items: the same in the embedded store.
	page, err := w.store.Query(b.Context(), itemsOf("a"))
	if err == nil {
		err = s.PutAll(b.Context(), page.Items)
	}
	if err != nil {
		b.Fatal(err)
	}
	r := rollup.NewReader(s, w.raw(w.now), w.resent)
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

// BenchmarkMark marks what 1,000 devices send minute by minute, in batches of
// 5,000, whose marks are known.
func BenchmarkMark(b *testing.B) {
	at := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	m := rollup.NewMarker(mem.New(nil), func() time.Time { return at.Add(30 * time.Hour) })
	var readings []varve.Reading
	for i := range 5000 {
		readings = append(readings, bare(fmt.Sprintf("dev-%04d", i%1000), at.Add(time.Duration(i/1000)*time.Minute)))
	}
	verdicts := make([]varve.Verdict, len(readings))
	for b.Loop() {
		if _, err := m.Mark(b.Context(), at.Add(30*time.Hour), readings, verdicts); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/5000, "ns/reading")
}
