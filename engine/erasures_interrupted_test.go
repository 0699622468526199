package engine_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/archive"
	"github.com/varvedb/varve/engine"
	"github.com/varvedb/varve/erasures"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/mem"
)

// interrupted is a store whose Erase can fail after it has deleted readings. If the field "fails" is set,
// the next call that deletes a reading fails, and clears the field.
type interrupted struct {
	*mem.Store
	fails bool
}

func (s *interrupted) Erase(ctx context.Context, x store.Erasure) (int64, error) {
	n, err := s.Store.Erase(ctx, x)
	if err == nil && s.fails && n > 0 {
		s.fails, err = false, errFlaky
	}
	return n, err
}

// TestErasure_WaitsAfterInterruptedLastSearch interrupts the last search after it deleted a reading of a slow write.
// The next search finds nothing. It must not end the erasure, because more such writes may be under way.
func TestErasure_WaitsAfterInterruptedLastSearch(t *testing.T) {
	clock := time.Date(2026, 3, 15, 0, 0, 0, 0, time.UTC)
	now := func() time.Time { return clock }
	st := &interrupted{Store: mem.New(now)}
	e, err := engine.Open(t.Context(), engine.Options{Store: st, Rotation: engine.DefaultRotation(), Now: now, NoRollups: true, Schedule: "@yearly"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	e.WaitForFirst()
	table := tableOfOne(t, e, clock)
	late := hourlyReadings(table, clock, "d")
	target := erasures.Target{Tenant: varve.DefaultTenant, Device: "d", Window: varve.AllTime()}
	p, err := e.Erasures.Plan(t.Context(), target)
	if err != nil {
		t.Fatal(err)
	}
	r, err := e.Erasures.Begin(t.Context(), target, p.Digest(), "")
	if err != nil {
		t.Fatal(err)
	}
	check := func(when string, want erasures.State) {
		t.Helper()
		_, err := e.Erasures.Run(t.Context())
		if err == nil {
			r, err = e.Erasures.Get(t.Context(), r.ID)
		}
		if err != nil || r.State != want {
			t.Fatalf("%s: %+v, %v, want state %s", when, r, err, want)
		}
	}
	check("first search", erasures.Settling)
	if res := st.Write(t.Context(), []store.Batch{{Table: table, Readings: late}}); res[0].Err != nil || res[0].Verdicts[0].Outcome != varve.Stored {
		t.Fatalf("%+v", res)
	}
	clock, st.fails = clock.Add(20*time.Minute), true
	check("interrupted last search", erasures.Erasing)
	clock = clock.Add(time.Minute)
	check("search after the interruption", erasures.Settling)
	clock = clock.Add(20 * time.Minute)
	check("last search", erasures.Done)
}

// dropping is a store that lists all its tables as being dropped, while the field "all" is set.
type dropping struct {
	*mem.Store
	all atomic.Bool
}

func (s *dropping) Tables(ctx context.Context, f store.Filter) ([]store.Info, error) {
	infos, err := s.Store.Tables(ctx, f)
	for i := range infos {
		if s.all.Load() {
			infos[i].Status = store.Deleting
		}
	}
	return infos, err
}

// TestErasure_WaitsForTableBeingDropped erases readings of a table that is being dropped. The drop is then
// undone. The erasure must not be done before it has erased the readings of the table.
func TestErasure_WaitsForTableBeingDropped(t *testing.T) {
	clock := time.Date(2026, 3, 15, 0, 0, 0, 0, time.UTC)
	now := func() time.Time { return clock }
	st := &dropping{Store: mem.New(now)}
	e, err := engine.Open(t.Context(), engine.Options{Store: st, Rotation: engine.DefaultRotation(), Now: now, NoRollups: true, Schedule: "@yearly"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	e.WaitForFirst()
	tableOfOne(t, e, clock) // writes one reading
	target := erasures.Target{Tenant: varve.DefaultTenant, Device: "d", Window: varve.AllTime()}
	p, err := e.Erasures.Plan(t.Context(), target)
	if err != nil {
		t.Fatal(err)
	}
	r, err := e.Erasures.Begin(t.Context(), target, p.Digest(), "")
	if err != nil {
		t.Fatal(err)
	}
	st.all.Store(true)
	if _, err := e.Erasures.Plan(t.Context(), target); varve.FailureOf(err) != varve.Unavailable {
		t.Errorf("plan during the drop: %v, want unavailable", err)
	}
	for range 4 {
		if _, err := e.Erasures.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		clock = clock.Add(time.Hour)
	}
	if r, err = e.Erasures.Get(t.Context(), r.ID); err != nil || r.State == erasures.Done || r.Problem == "" {
		t.Errorf("during the drop: %+v, %v; want a problem", r, err)
	}
	st.all.Store(false)
	for range 4 {
		if _, err := e.Erasures.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		clock = clock.Add(time.Hour)
	}
	if r, err = e.Erasures.Get(t.Context(), r.ID); err != nil || r.State != erasures.Done || len(r.Erased) != 1 || r.Erased[0].Readings != 1 {
		t.Errorf("after the drop was undone: %+v, %v; want one erased reading and done", r, err)
	}
}

// dying is a store of a process that dies after it has completed an archive, if the field "dies" is set. A dead
// process writes no items.
type dying struct {
	*mem.Store
	dies, dead atomic.Bool
}

func (s *dying) Put(ctx context.Context, it store.Item, conds ...store.Cond) error {
	if s.dead.Load() {
		return errFlaky
	}
	err := s.Store.Put(ctx, it, conds...)
	_, isAttempt := it.Attrs["attempts"]
	if s.dies.Load() && err == nil && it.PK == archive.RecordsPK && !isAttempt {
		s.dead.Store(true)
	}
	return err
}

// TestErasure_WaitsAfterInterruptedArchive erases readings from an archive that was on hold. The process dies
// after it has rewritten the archive, in each state that an erasure may have then. The next search finds nothing.
// It must not end the erasure, because it has not waited since the deletion.
func TestErasure_WaitsAfterInterruptedArchive(t *testing.T) {
	for _, before := range []erasures.State{erasures.Settling, erasures.Held} {
		t.Run(string(before), func(t *testing.T) {
			var st *dying
			w := openArchiveWorldOn(t, func(w *archiveWorld) (store.Store, error) {
				st = &dying{Store: mem.New(w.now)}
				return st, nil
			})
			table := tableOfOne(t, w.Engine, w.clock)
			w.run(400 * day)
			w.ArchiveTables()
			w.run(10 * day)
			w.holdArchive(table, "case 7")
			r := w.finish("d", before)
			w.holdArchive(table, "")
			w.clock = w.clock.Add(20 * time.Minute)
			st.dies.Store(true)
			if _, err := w.Erasures.Run(t.Context()); err == nil || !st.dead.Load() {
				t.Fatalf("the process did not die: %v", err)
			}
			st.dies.Store(false)
			st.dead.Store(false)
			w.clock = w.clock.Add(20 * time.Minute)
			for _, want := range []erasures.State{erasures.Settling, erasures.Done} {
				_, err := w.Erasures.Run(t.Context())
				if err == nil {
					r, err = w.Erasures.Get(t.Context(), r.ID)
				}
				if err != nil || r.State != want {
					t.Fatalf("%+v, %v, want state %s", r, err, want)
				}
				w.clock = w.clock.Add(20 * time.Minute)
			}
		})
	}
}
