package rollup_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/rollup"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/mem"
)

// TestBacklog_CountsDueMarkers checks the backlog before any marker is due, when the markers are
// due, and after a run.
func TestBacklog_CountsDueMarkers(t *testing.T) {
	now := time.Date(2026, 11, 16, 12, 0, 0, 0, time.UTC)
	clock := func() time.Time { return now }
	items := mem.New(clock)
	marker := rollup.NewTracker(items, clock)
	for i := range 300 {
		r := []varve.Reading{{
			Series: varve.Series{Tenant: "acme", Stream: "weather", Device: fmt.Sprintf("d%d", i)}, Time: now, Arrived: now,
			Fields: []varve.Field{{Name: "v", Value: varve.IntValue(1)}},
		}}
		if _, err := marker.MarkDirty(t.Context(), now, r, make([]varve.Verdict, 1)); err != nil {
			t.Fatal(err)
		}
	}
	w := rollup.NewAggregator(rollup.AggregatorOptions{Items: items, Source: emptySource{}, Now: clock, Holder: "w"})
	want := func(what string, most, least int) {
		t.Helper()
		if n, err := w.Backlog(t.Context()); err != nil || n < least || n > most {
			t.Errorf("%s: %d, %v, want %d to %d", what, n, err, least, most)
		}
	}
	want("at once", 0, 0)
	now = now.Add(2 * time.Hour)
	want("when they are due", 600, 300)
	if _, err := w.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	want("when they were taken", 0, 0)
}

type emptySource struct{}

func (emptySource) ScanCopies(context.Context, varve.Series, varve.Window, store.CopyScanner) error {
	return nil
}

// TestTablesInUse_NamesDirtyDays checks which retired tables are in use because of a dirty marker. Exactly
// the tables that meet three conditions must be in use. The range includes the dirty hour, the arrival month
// is not later than the marker's arrival day, and the retirement was on that day or later.
func TestTablesInUse_NamesDirtyDays(t *testing.T) {
	w := newWorld(t)
	hour, arrived := time.Date(2026, 11, 10, 5, 0, 0, 0, time.UTC), time.Date(2026, 12, 5, 13, 0, 0, 0, time.UTC)
	w.clock = arrived
	late := []varve.Reading{w.reading("a", hour)}
	if _, err := rollup.NewTracker(w.store, w.now).MarkDirty(t.Context(), arrived, late, make([]varve.Verdict, 1)); err != nil {
		t.Fatal(err)
	}
	needed, err := w.aggregator(0).TablesInUse(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	week := grid.Range{Start: hour.Add(-24 * time.Hour).Unix(), End: hour.Add(6 * 24 * time.Hour).Unix()}
	other := grid.Range{Start: week.End, End: week.End + 7*86400}
	for _, c := range []struct {
		what    string
		r       grid.Range
		month   grid.Month
		retired time.Time
		needed  bool
	}{
		{"the mark's own month", week, grid.MonthOf(arrived), arrived.AddDate(0, 2, 0), true},
		{"an earlier month, which tells what came before", week, grid.MonthOf(hour), arrived.AddDate(0, 1, 0), true},
		{"it was retired later on that day", week, grid.MonthOf(hour), arrived.Add(10 * time.Hour), true},
		{"it was retired earlier on that day", week, grid.MonthOf(hour), arrived.Add(-12 * time.Hour), true},
		{"it was retired the day before", week, grid.MonthOf(hour), arrived.Add(-14 * time.Hour), false},
		{"a later month", week, grid.MonthOf(arrived) + 1, arrived.AddDate(0, 2, 0), false},
		{"another range", other, grid.MonthOf(arrived), arrived.AddDate(0, 2, 0), false},
	} {
		why := needed(grid.Table{Prefix: "v", Range: c.r, Month: c.month}, c.retired)
		if (why != "") != c.needed {
			t.Errorf("%s: %q", c.what, why)
		}
		if why != "" && why != "roll-ups have yet to be counted from it: of 2026-11-10" {
			t.Errorf("%s: %q", c.what, why)
		}
	}
}
