package query_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/query"
	"github.com/varvedb/varve/store"
)

// TestScanCopies_IncludesExpired scans expired copies in several tables. The scan must find one first copy
// of each reading. It must fail if a table is dropped meanwhile.
func TestScanCopies_IncludesExpired(t *testing.T) {
	w := newWorld(t, 70*day, 70*day, 1)
	long := start.AddDate(0, -2, 0)
	first := reading("a", long, long, "x", 1)
	w.put(t, "default", reading("a", long, start, "x", 2))
	gone := w.put(t, "default", first)
	w.put(t, "default", reading("a", start, start, "", 3))
	w.put(t, "default", reading("b", start, start, "", 4))
	w.clock = start.Add(80 * day)
	if got := w.distinct(device("a")); len(got) != 0 {
		t.Fatalf("%d are alive: the test is wrong", len(got))
	}
	each := func(w *world, window varve.Window) (got []varve.Reading, err error) {
		err = w.engine.ScanCopies(t.Context(), device("a"), window, store.CopyFunc(func(c store.Copy) error {
			if c.First {
				got = append(got, c.Reading.Clone())
			}
			return nil
		}))
		return got, err
	}
	got, err := each(w, varve.AllTime())
	if err != nil || len(got) != 2 || !got[0].Equal(&first) {
		t.Errorf("%v, %v", got, err)
	}
	if got, err = each(w, varve.Window{From: start, To: start.Add(time.Hour)}); err != nil || len(got) != 1 {
		t.Errorf("%v, %v", got, err)
	}
	w.store.before = func(_ context.Context, _ string, tb grid.Table) error {
		if tb == gone {
			return store.ErrNoTable
		}
		return nil
	}
	if _, err = each(w, varve.AllTime()); varve.FailureOf(err) != varve.Unavailable {
		t.Errorf("a table was dropped: %v", err)
	}
}

// TestScanCopies_NamesFirstCopy scans copies of a reading in several tables. Of these copies, only
// the one with the first arrival may have First set, even if it has expired.
func TestScanCopies_NamesFirstCopy(t *testing.T) {
	w := newWorld(t, day, 40*day, 1)
	begin := time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)
	for i, c := range []struct {
		class   string
		arrived time.Time
	}{
		{"default", begin}, // this copy expires on 2 August at noon
		{"old", begin.Add(36*time.Hour - 1)},
		{"default", begin.Add(41*day + 5*time.Hour)},
		{"old", begin.Add(61 * day)},
	} {
		w.put(t, c.class, reading("a", begin, c.arrived, "x", int64(i+1)))
	}
	w.put(t, "default", reading("b", begin, begin, "x", 7))
	// A device's own retention hides readings from users, but not from ScanCopies, which roll-ups use.
	e := query.New(query.Options{
		Reader: w.store, Catalog: w.store, Streams: w.streams, Policy: w.policy, Now: w.now, Parallel: 1,
		Retention: func(context.Context, string, string) (time.Duration, error) { return time.Hour, nil },
	})
	var copies, first []string
	err := e.ScanCopies(t.Context(), device("a"), varve.AllTime(), store.CopyFunc(func(c store.Copy) error {
		v := c.Reading.Field("value").String()
		if copies = append(copies, v); c.First {
			first = append(first, v)
		}
		return nil
	}))
	if err != nil || !slices.Equal(copies, []string{"1", "2", "3", "4"}) || !slices.Equal(first, []string{"1"}) {
		t.Errorf("%v, of which %v are first, %v", copies, first, err)
	}
}
