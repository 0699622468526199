package archive_test

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/archive"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/internal/randomtest"
	"github.com/varvedb/varve/store"
)

// TestArchive_LosesNoReadingOfRecreatedTable archives and drops a table, and recreates it with other readings and
// some of the same ones. Each further archive must have all readings of the earlier ones, with faults in
// between, and whether the archives are merged or not. It must permit the drop.
func TestArchive_LosesNoReadingOfRecreatedTable(t *testing.T) {
	randomtest.LimitChecks(t, 10)
	dir := t.TempDir()
	checkWithin(t, func(t *rapid.T) {
		w := newMergeWorld(t, dir)
		defer func() { must(t, os.RemoveAll(w.root)) }()
		ctx := context.Background()
		for range rapid.IntRange(1, 3).Draw(t, "rounds") {
			if rapid.Bool().Draw(t, "merged") {
				w.mergeAll(t, w.whole())
			}
			tb := w.one(t)
			before := texts(w.want[tb])
			w.recreate(t, tb)
			in := info(t, w.store, tb)
			for range 3 {
				_, _ = w.archiver(genProcess(t)).Archive(ctx, in) // a fault is not an error of the test
				w.checkContains(t, tb, before)
			}
			r, err := w.whole().Archive(ctx, in)
			must(t, err)
			must(t, w.whole().Check(ctx, &r, in))
			if got, want := w.stored(t, &r), texts(w.want[tb]); !slices.Equal(got, want) {
				t.Fatalf("the archive has\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
			must(t, w.store.Drop(ctx, tb))
			w.exist[tb] = false
		}
		w.end(t)
	})
}

// recreate creates a dropped table with new readings and some of its archived ones, and retires it.
// Afterward, w.want has the archived and the new readings.
func (w *mergeWorld) recreate(t *rapid.T, tb grid.Table) {
	ctx := context.Background()
	type key struct {
		series varve.Series
		at     varve.Position
	}
	r, found, err := w.whole().Catalog().Get(ctx, tb)
	must(t, err)
	if w.exist[tb] || found && r.State != archive.Archived {
		return
	}
	if !found {
		w.want[tb] = nil // the archive has expired
	}
	w.now = w.now.Add(time.Minute)
	must(t, w.store.Create(ctx, tb, store.Hot))
	w.exist[tb] = true
	archived := map[key]bool{}
	b := store.Batch{Table: tb}
	for i := range w.want[tb] {
		r := &w.want[tb][i]
		archived[key{r.Series, r.Position()}] = true
		if rapid.Bool().Draw(t, "again") {
			b.Readings = append(b.Readings, *r)
		}
	}
	must(t, w.store.Write(ctx, []store.Batch{b})[0].Err)
	for _, r := range write(t, w.store, tb, rapid.IntRange(0, 10).Draw(t, "further readings")) {
		if !archived[key{r.Series, r.Position()}] {
			w.want[tb] = append(w.want[tb], r)
		}
	}
	must(t, w.store.Retire(ctx, tb, w.now))
}

// checkContains checks that the recorded archive of a table has the given readings.
func (w *mergeWorld) checkContains(t *rapid.T, tb grid.Table, want []string) {
	r, found, err := w.whole().Catalog().Get(context.Background(), tb)
	must(t, err)
	if !found || r.State != archive.Archived {
		t.Fatalf("the record of %s: %+v", tb, r)
	}
	got := w.stored(t, &r)
	for _, text := range want {
		if !slices.Contains(got, text) {
			t.Fatalf("the archive lacks %s", text)
		}
	}
}

// TestMerge_KeepsDamagedArchiveWithMoreReadings damages the archive of a dropped table. The table is recreated with
// one reading, archived and dropped. A merge must not delete the damaged archive, because most of its readings
// can still be read.
func TestMerge_KeepsDamagedArchiveWithMoreReadings(t *testing.T) {
	withMergeWorld(t, func(t *rapid.T, w *mergeWorld) {
		ctx, tb := context.Background(), w.tables[0]
		r, _, err := w.whole().Catalog().Get(ctx, tb)
		must(t, err)
		files := w.whole().FilesOf(ctx, &r)
		if len(w.want[tb]) < 10 || len(w.foreign) > 0 {
			t.Skip("the archive has few readings")
		}
		must(t, w.objects.Delete(ctx, files[0]))
		w.now = w.now.Add(time.Minute)
		must(t, w.store.Create(ctx, tb, store.Hot))
		w.want[tb] = write(t, w.store, tb, 1)
		must(t, w.store.Retire(ctx, tb, w.now))
		w.drop1(t, tb)
		w.mergeAll(t, w.whole())
		if r, _, err = w.whole().Catalog().Get(ctx, tb); err != nil || r.Merged == "" || r.Single {
			t.Fatalf("%+v, %v; want the record of a complete merge", r, err)
		}
		for _, key := range files[1:] {
			if _, err := w.objects.Stat(ctx, key); err != nil {
				t.Errorf("a file of the damaged archive: %v", err)
			}
		}
	})
}
