package archive_test

import (
	"context"
	"errors"
	"testing"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/archive"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/store"
)

// target is a store for a restore. It can fail to put a table on hold, and can report another state of
// its tables.
type target struct {
	store.Store
	hold  func() error
	state func(in *store.Info)
}

func (g *target) Hold(ctx context.Context, t grid.Table, reason string) error {
	if g.hold != nil {
		if err := g.hold(); err != nil {
			return err
		}
	}
	return g.Store.Hold(ctx, t, reason)
}

func (g *target) Tables(ctx context.Context, f store.Filter) ([]store.Info, error) {
	infos, err := g.Store.Tables(ctx, f)
	for i := range infos {
		if g.state != nil {
			g.state(&infos[i])
		}
	}
	return infos, err
}

// newDropped returns a world whose table has an archive of one reading and was dropped.
func newDropped(t *testing.T) (*clockWorld, *archive.Record) {
	t.Helper()
	w := newClockWorld(t, func(s archive.Source, _ *clockWorld) archive.Source { return s })
	w.write()
	if err := w.store.Retire(t.Context(), table, now); err != nil {
		t.Fatal(err)
	}
	r, err := w.archiver.Archive(t.Context(), w.info())
	if err != nil {
		t.Fatal(err)
	}
	if err := w.store.Drop(t.Context(), table); err != nil {
		t.Fatal(err)
	}
	return w, &r
}

// TestRestore_RepeatsAfterFailedHold interrupts a restore between the creation of the table and its hold.
// The repeated restore must write all readings.
func TestRestore_RepeatsAfterFailedHold(t *testing.T) {
	w, r := newDropped(t)
	to := &target{Store: w.store, hold: func() error { return errInjected }}
	if err := w.archiver.Restore(t.Context(), r, to); !errors.Is(err, errInjected) {
		t.Fatalf("interrupted restore: %v, want %v", err, errInjected)
	}
	if err := w.archiver.Restore(t.Context(), r, w.store); err != nil {
		t.Fatal(err)
	}
	if in := w.info(); in.Readings != 1 || in.Hold != archive.RestoredHold {
		t.Errorf("%d readings, hold %q; want 1 and %q", in.Readings, in.Hold, archive.RestoredHold)
	}
}

// TestRestore_CompletesCreation restores into a table whose creation was interrupted. It must write all
// readings.
func TestRestore_CompletesCreation(t *testing.T) {
	w, r := newDropped(t)
	if err := w.store.Create(t.Context(), table, store.Cold); err != nil {
		t.Fatal(err)
	}
	to := &target{Store: w.store, state: func(in *store.Info) { in.Status = store.Creating }}
	if err := w.archiver.Restore(t.Context(), r, to); err != nil {
		t.Fatal(err)
	}
	if in := w.info(); in.Readings != 1 {
		t.Errorf("%d readings, want 1", in.Readings)
	}
}

// TestRestore_LeavesOtherTables restores into tables that an interrupted restore cannot have left. It
// must change nothing.
func TestRestore_LeavesOtherTables(t *testing.T) {
	for name, prepare := range map[string]func(*clockWorld) error{
		"with a reading": func(w *clockWorld) error { w.write(); return nil },
		"retired":        func(w *clockWorld) error { return w.store.Retire(t.Context(), table, now) },
		"on hold":        func(w *clockWorld) error { return w.store.Hold(t.Context(), table, "case 12") },
	} {
		t.Run(name, func(t *testing.T) {
			w, r := newDropped(t)
			if err := w.store.Create(t.Context(), table, store.Warm); err != nil {
				t.Fatal(err)
			}
			if err := prepare(w); err != nil {
				t.Fatal(err)
			}
			before := *w.info()
			// The number of readings in a catalog may be out of date.
			to := &target{Store: w.store, state: func(in *store.Info) { in.Readings = 0 }}
			if err := w.archiver.Restore(t.Context(), r, to); varve.FailureOf(err) != varve.Conflict {
				t.Errorf("restore: %v, want a conflict", err)
			}
			if after := *w.info(); after != before {
				t.Errorf("the table is %+v, want %+v", after, before)
			}
		})
	}
}
