package query_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/bucket"
	"github.com/varvedb/varve/query"
	"github.com/varvedb/varve/store"
)

// TestEach: all copies that are still in a table are there, whether they have
// expired or not; the first counts, and no other that came before it expired. A
// table that goes meanwhile makes an error.
func TestEach(t *testing.T) {
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
		err = w.engine.Each(t.Context(), device("a"), window, func(r *varve.Reading, counts, _ bool) {
			if counts {
				got = append(got, r.Clone())
			}
		})
		return got, err
	}
	got, err := each(w, varve.AllTime())
	if err != nil || len(got) != 2 || !got[0].Equal(&first) {
		t.Errorf("%v, %v", got, err)
	}
	if got, err = each(w, varve.Window{From: start, To: start.Add(time.Hour)}); err != nil || len(got) != 1 {
		t.Errorf("%v, %v", got, err)
	}
	w.store.before = func(_ context.Context, _ string, tb bucket.Table) error {
		if tb == gone {
			return store.ErrNoTable
		}
		return nil
	}
	if _, err = each(w, varve.AllTime()); varve.FailureOf(err) != varve.Unavailable {
		t.Errorf("a table was dropped: %v", err)
	}
}

// TestEachCounts: a copy counts if all that arrived before had expired by the
// retention of where it lies when the day began on which this one arrived.
func TestEachCounts(t *testing.T) {
	w := newWorld(t, day, 40*day, 1)
	begin := time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)
	for i, c := range []struct {
		class   string
		arrived time.Time
	}{
		{"default", begin},                           // counts; expires on 2 August at noon
		{"old", begin.Add(36*time.Hour - 1)},         // expires right before 12 September
		{"default", begin.Add(41*day + 5*time.Hour)}, // expires on 12 September
		{"old", begin.Add(61 * day)},                 // counts; expires on 10 November
		{"default", begin.Add(101*day + time.Hour)},  // expires on 11 November
		{"old", begin.Add(103 * day)},                // counts
	} {
		w.put(t, c.class, reading("a", begin, c.arrived, "x", int64(i+1)))
	}
	w.put(t, "default", reading("b", begin, begin, "x", 7))
	// What users no longer see of a device tells copies from new readings yet.
	e := query.New(query.Options{
		Reader: w.store, Catalog: w.store, Streams: w.streams, Policy: w.policy, Now: w.now, Parallel: 1,
		Keep: func(context.Context, string, string) (time.Duration, error) { return time.Hour, nil },
	})
	var seen, counting []string
	err := e.Each(t.Context(), device("a"), varve.AllTime(), func(r *varve.Reading, counts, earlier bool) {
		v := r.Field("value").String()
		if seen = append(seen, v); counts {
			counting = append(counting, v)
		}
		if earlier != (v != "1") {
			t.Errorf("%s has earlier copies: %v", v, earlier)
		}
	})
	if err != nil || !slices.Equal(seen, []string{"1", "2", "3", "4", "5", "6"}) || !slices.Equal(counting, []string{"1", "4", "6"}) {
		t.Errorf("%v, of which %v count, %v", seen, counting, err)
	}
}
