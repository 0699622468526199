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

// slowItems calls a function once, before the first record points to a merged archive.
type slowItems struct {
	store.Items
	before *func()
}

func (i slowItems) Put(ctx context.Context, it store.Item, conds ...store.Cond) error {
	if do := *i.before; it.PK == archive.RecordsPK && it.Attrs["merged"].Text() != "" && do != nil {
		*i.before = nil
		do()
	}
	return i.Items.Put(ctx, it, conds...)
}

// withMergeWorld calls a function once with the archives of some dropped tables.
func withMergeWorld(t *testing.T, do func(*rapid.T, *mergeWorld)) {
	t.Helper()
	randomtest.LimitChecks(t, 1)
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		w := newMergeWorld(t, dir)
		defer func() { must(t, os.RemoveAll(w.root)) }()
		do(t, w)
	})
}

// TestMerge_SurvivesDiscardByPeer discards a merged archive while the process that wrote it is about to
// point the records to it. In each round, the discard dies before a different step. No record may point
// to deleted files.
func TestMerge_SurvivesDiscardByPeer(t *testing.T) {
	for step := range 24 {
		withMergeWorld(t, func(t *rapid.T, w *mergeWorld) {
			ctx := context.Background()
			discard := func() {
				_, err := w.archiver(&process{at: step, fault: dieBefore}).Merge(ctx, nil, false)
				if err == nil && step < 4 {
					t.Fatalf("the discard survived step %d", step)
				}
			}
			slow := archive.New(archive.Options{
				Store: w.store, Items: slowItems{w.store, &discard}, Objects: w.objects, Prefix: "p",
				ClassOf: func(grid.Table) string { return "default" }, Now: w.clock, ExactCounts: true, GroupRows: 7, FileBytes: 3000,
			})
			_, err := slow.Merge(ctx, nil, true)
			if discard != nil {
				t.Fatalf("no record was pointed to a merged archive: %v", err)
			}
			w.check(t)
			for range 2 {
				_, _ = w.whole().Merge(ctx, nil, false) // ignores the error, which may report the interrupted merge
				w.check(t)
			}
			w.end(t)
		})
	}
}

// TestMerge_KeepsSingleFilesDuringHold merges archives and puts one of them on hold. The files of the single
// archives must stay until the hold is released.
func TestMerge_KeepsSingleFilesDuringHold(t *testing.T) {
	withMergeWorld(t, func(t *rapid.T, w *mergeWorld) {
		ctx, a := context.Background(), w.whole()
		_, err := a.Merge(ctx, nil, true)
		must(t, err)
		for _, reason := range []string{"case 7", ""} {
			_, err = a.Catalog().Hold(ctx, w.tables[0], reason)
			must(t, err)
			_, err = a.Merge(ctx, nil, true)
			must(t, err)
			for _, tb := range w.tables {
				r, _, err := a.Catalog().Get(ctx, tb)
				must(t, err)
				if r.Merged == "" || r.Single != (reason != "") {
					t.Fatalf("with the hold %q: %+v", reason, r)
				}
			}
		}
	})
}

// TestErase_RemovesLeftoverOfMergedArchive erases readings of a table that has an archive of its own again.
// The merged archive must lose them, too, and keep the readings of its other tables.
func TestErase_RemovesLeftoverOfMergedArchive(t *testing.T) {
	withMergeWorld(t, func(t *rapid.T, w *mergeWorld) {
		if len(w.want[w.tables[0]]) < 8 {
			t.SkipNow() // with so few readings, the table may lack readings of a device
		}
		ctx, a, tb := context.Background(), w.whole(), w.tables[0]
		for range 2 {
			_, err := a.Merge(ctx, nil, true)
			must(t, err)
		}
		r, _, err := a.Catalog().Get(ctx, tb)
		must(t, err)
		must(t, a.Restore(ctx, &r, w.store))
		must(t, w.store.Hold(ctx, tb, ""))
		w.now = w.now.Add(time.Minute)
		must(t, w.store.Retire(ctx, tb, w.now))
		w.drop1(t, tb)
		left, err := a.Catalog().Leftover(ctx)
		if err != nil || len(left) != 1 || left[0] != tb {
			t.Fatalf("leftovers: %v, %v", left, err)
		}
		covers := func(r *varve.Reading) bool { return r.Device == "a" && tb.Window().Contains(r.Time) }
		_, err = a.Erase(ctx, []grid.Table{tb}, covers, nil)
		must(t, err)
		w.want[tb] = slices.DeleteFunc(w.want[tb], func(r varve.Reading) bool { return covers(&r) })
		w.check(t)
		checkErased(t, w.objects, covers)
	})
}

// TestMerge_LeavesDamagedArchives damages the file of one archive. Nothing may be merged.
func TestMerge_LeavesDamagedArchives(t *testing.T) {
	withMergeWorld(t, func(t *rapid.T, w *mergeWorld) {
		ctx, a := context.Background(), w.whole()
		r, _, err := a.Catalog().Get(ctx, w.tables[0])
		must(t, err)
		name := w.root + "/" + a.FilesOf(ctx, &r)[0]
		body, err := os.ReadFile(name)
		must(t, err)
		body[len(body)/2] ^= 1
		must(t, os.Remove(name))
		must(t, os.WriteFile(name, body, 0o600))
		for range 2 {
			done, err := a.Merge(ctx, nil, true)
			if err == nil || len(done) != 0 || !strings.Contains(err.Error(), w.tables[0].Name()) {
				t.Fatalf("%v, %v", done, err)
			}
		}
		if list, err := a.Catalog().ListMerged(ctx); err != nil || len(list) != 0 {
			t.Fatalf("%v, %v", list, err)
		}
	})
}
