package archive_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/archive"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/objectstore/folder"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/mem"
)

// clockWorld has a store, an Archiver without Options.ExactCounts, and a clock that can be wrong.
type clockWorld struct {
	t        *testing.T
	at       time.Time
	store    store.Store
	archiver *archive.Archiver
	written  int
}

func newClockWorld(t *testing.T, wrap func(archive.Source, *clockWorld) archive.Source) *clockWorld {
	t.Helper()
	objects, err := folder.Open(t.TempDir(), folder.Private)
	if err != nil {
		t.Fatal(err)
	}
	w := &clockWorld{t: t, at: now}
	clock := func() time.Time { return w.at }
	w.store = mem.New(clock)
	w.archiver = archive.New(archive.Options{
		Store: wrap(w.store, w), Items: w.store, Objects: objects, ClassOf: func(grid.Table) string { return "default" }, Now: clock,
	})
	if err := w.store.Create(t.Context(), table, store.Hot); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *clockWorld) write() {
	w.t.Helper()
	w.written++
	r := varve.Reading{
		Series: varve.Series{Tenant: varve.DefaultTenant, Stream: "weather", Device: "d"}, Time: table.Window().From, Arrived: table.Month.Start(),
		Fields: []varve.Field{{Name: "v", Value: varve.IntValue(int64(w.written))}},
	}
	if v := r.Normalize(); v.Outcome == varve.Rejected {
		w.t.Fatal(v)
	}
	b := store.Batch{Table: table, Readings: []varve.Reading{r}}
	if res := w.store.Write(w.t.Context(), []store.Batch{b})[0]; res.Err != nil || !res.Verdicts[0].HasStored() {
		w.t.Fatal(res)
	}
}

func (w *clockWorld) info() *store.Info {
	w.t.Helper()
	infos, err := w.store.Tables(w.t.Context(), store.Filter{Prefixes: []string{table.Prefix}, Window: varve.AllTime(), Details: true, Fresh: true})
	if err != nil || len(infos) != 1 {
		w.t.Fatal(infos, err)
	}
	return &infos[0]
}

func (w *clockWorld) retire() {
	w.t.Helper()
	if err := w.store.Retire(w.t.Context(), table, w.at); err != nil {
		w.t.Fatal(err)
	}
}

// TestCheck_RefusesArchiveOfWrongClock archives a table while the clock is years ahead. After the clock
// is correct again, readings arrive that the archive lacks, and the table is retired. The archive must
// not permit the drop of the table.
func TestCheck_RefusesArchiveOfWrongClock(t *testing.T) {
	w := newClockWorld(t, func(s archive.Source, _ *clockWorld) archive.Source { return s })
	w.write()
	w.at = now.AddDate(10, 0, 0)
	r, err := w.archiver.Archive(t.Context(), w.info())
	if err != nil {
		t.Fatal(err)
	}
	w.at = now
	w.write()
	w.retire()
	if err := w.archiver.Check(t.Context(), &r, w.info()); err == nil || !strings.Contains(err.Error(), "the clock was wrong") {
		t.Errorf("the archive permits a drop: %v", err)
	}
	if r, err = w.archiver.Archive(t.Context(), w.info()); err != nil || r.Readings != 2 {
		t.Errorf("the next archive has %d readings: %v", r.Readings, err)
	}
	if err := w.archiver.Check(t.Context(), &r, w.info()); err != nil {
		t.Error(err)
	}
}

// slowSource calls a function after the table was read.
type slowSource struct {
	archive.Source
	after func()
}

func (s slowSource) Read(ctx context.Context, r store.Range, dst []varve.Reading) (store.Page, error) {
	p, err := s.Source.Read(ctx, r, dst)
	if !p.More {
		s.after()
	}
	return p, err
}

// TestCheck_RefusesArchiveReadBeforeRetirement retires a table after it was read, and before its
// archive is complete. A reading is written in between. The archive, which lacks this reading, must not
// permit the drop of the table.
func TestCheck_RefusesArchiveReadBeforeRetirement(t *testing.T) {
	once := false
	w := newClockWorld(t, func(s archive.Source, w *clockWorld) archive.Source {
		return slowSource{s, func() {
			if once {
				return
			}
			once = true
			w.at = w.at.Add(time.Minute)
			w.write()
			w.at = w.at.Add(time.Minute)
			w.retire()
			w.at = w.at.Add(time.Minute)
		}}
	})
	w.write()
	r, err := w.archiver.Archive(t.Context(), w.info())
	if err != nil || r.Readings != 1 || !once {
		t.Fatal(r.Readings, once, err)
	}
	if err := w.archiver.Check(t.Context(), &r, w.info()); err == nil {
		t.Error("an archive that lacks a reading permits the drop")
	}
}
