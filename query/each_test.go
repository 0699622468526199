package query_test

import (
	"context"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/bucket"
	"github.com/varvedb/varve/store"
)

// TestEach: all that is still in a table is there, once, as it arrived first,
// whether it has expired or not; a table that goes meanwhile makes an error.
func TestEach(t *testing.T) {
	w := newWorld(t, day, day, 1)
	long := start.AddDate(0, -2, 0)
	first := reading("a", long, long, "x", 1)
	w.put(t, "default", reading("a", long, start, "x", 2))
	gone := w.put(t, "default", first)
	w.put(t, "default", reading("a", start, start, "", 3))
	w.put(t, "default", reading("b", start, start, "", 4))
	if got := w.distinct(device("a")); len(got) != 2 {
		t.Fatalf("%d are alive: the test is wrong", len(got))
	}
	each := func(w *world, window varve.Window) (got []varve.Reading, err error) {
		err = w.engine.Each(t.Context(), device("a"), window, func(r *varve.Reading) { got = append(got, r.Clone()) })
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
