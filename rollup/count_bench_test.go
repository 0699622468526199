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
	"github.com/varvedb/varve/store/mem"
)

// given is readings that all count.
type given []varve.Reading

func (g given) Each(_ context.Context, _ varve.Series, w varve.Window, each func(*varve.Reading, bool)) error {
	for i := range g {
		if w.Contains(g[i].Time) {
			each(&g[i], true)
		}
	}
	return nil
}

// counting returns how the roll-up of a day is read that is all to be counted: so
// many readings, spread evenly over its first hours, whose fields have the names
// given.
func counting(t testing.TB, over time.Duration, readings int, names func(i int) []string) (*rollup.Reader, rollup.Query) {
	day := time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)
	raw := make(given, readings)
	for i := range raw {
		raw[i] = bare("a", day.Add(over/time.Duration(readings)*time.Duration(i)))
		raw[i].ID, raw[i].Arrived = varve.HashID(uint64(i)), raw[i].Time
		for j, name := range names(i) {
			raw[i].Fields = append(raw[i].Fields, varve.Field{Name: name, Value: varve.NumberValue(decimal.FromScaled(int64(224+(i+j)%30), -1))})
		}
	}
	items, clock := mem.New(nil), func() time.Time { return day.Add(12 * time.Hour) }
	if _, err := rollup.NewMarker(items, clock).Mark(t.Context(), day, raw, make([]varve.Verdict, readings)); err != nil {
		t.Fatal(err)
	}
	return rollup.NewReader(items, raw, rollup.IgnoreResent), rollup.Query{
		Series: raw[0].Series, Period: rollup.Daily, Window: varve.Window{From: day, To: day.Add(24 * time.Hour)},
	}
}

// distinct gives each reading so many names that no other has, in the order that
// readings have their fields.
func distinct(n int) func(i int) []string {
	return func(i int) (names []string) {
		for j := range n {
			names = append(names, fmt.Sprintf("f%03d-%d", (i*7919+j*104729)%1000, i*n+j))
		}
		slices.Sort(names)
		return names
	}
}

// BenchmarkCount counts a day of readings: every minute three fields, or two of
// four, or many fields; and a few readings with names that come only once.
func BenchmarkCount(b *testing.B) {
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
