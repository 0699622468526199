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
	"github.com/varvedb/varve/objectstore"
	"github.com/varvedb/varve/registry"
	"github.com/varvedb/varve/store"
)

// recordsOf returns the records of all archives, as a backup has them.
func recordsOf(t *rapid.T, items store.Items) (list []store.Item) {
	for _, pk := range []string{archive.RecordsPK, archive.MergedPK} {
		for it, err := range registry.All(context.Background(), items, store.ItemQuery{PK: pk, Consistent: true}) {
			must(t, err)
			list = append(list, *it)
		}
	}
	return list
}

// restoreRecords replaces the records of archives by earlier ones.
func restoreRecords(t *rapid.T, items store.Items, earlier []store.Item) {
	ctx := context.Background()
	for _, it := range recordsOf(t, items) {
		must(t, items.Delete(ctx, it.Key))
	}
	for _, it := range earlier {
		must(t, items.Put(ctx, it))
	}
}

func keysOf(t *rapid.T, o objectstore.Store) map[string]bool {
	keys := map[string]bool{}
	must(t, o.List(context.Background(), "", func(o objectstore.Object) error {
		keys[o.Key] = true
		return nil
	}))
	return keys
}

// TestAccept_AfterRestoreOfRecords restores the records of archives from a time before random erasures and
// merges. Each accepted archive must be whole, and have exactly the readings that are left. No acceptance may
// delete an object, and later merges and erasures must succeed.
func TestAccept_AfterRestoreOfRecords(t *testing.T) {
	dir, accepted := t.TempDir(), 0
	rapid.Check(t, func(t *rapid.T) {
		w := newMergeWorld(t, dir)
		defer func() { must(t, os.RemoveAll(w.root)) }()
		change := func() {
			w.now = w.now.Add(time.Minute)
			if rapid.Bool().Draw(t, "merge") {
				_, err := w.whole().Merge(context.Background(), nil, true)
				must(t, err)
			} else {
				w.eraseDevice(t)
			}
		}
		for range rapid.IntRange(0, 3).Draw(t, "before") {
			change()
		}
		earlier := recordsOf(t, w.store)
		for range rapid.IntRange(0, 5).Draw(t, "after") {
			change()
		}
		lost := rapid.IntRange(0, 3).Draw(t, "lose records") == 0
		if lost {
			earlier = slices.DeleteFunc(earlier, func(store.Item) bool { return rapid.Bool().Draw(t, "lost") })
		}
		restoreRecords(t, w.store, earlier)
		before := keysOf(t, w.objects)
		for _, tb := range rapid.Permutation(w.tables).Draw(t, "order") {
			accepted += w.accept(t, tb)
		}
		w.check(t)
		w.checkReads(t)
		after := keysOf(t, w.objects)
		for key := range before {
			if !after[key] {
				t.Fatalf("%s was deleted", key)
			}
		}
		w.now = w.now.Add(time.Minute)
		w.eraseDevice(t)
		w.mergeAll(t, w.whole())
		w.check(t)
		w.checkReads(t)
		if !lost { // an archive of a table without a record stays, even if a merged one is accepted
			checkNothingUnrecorded(t, w)
		}
	})
	if accepted == 0 && !testing.Short() {
		t.Error("no archive was ever accepted")
	}
}

func (w *mergeWorld) eraseDevice(t *rapid.T) {
	covers := genCover(t)
	_, err := w.whole().Erase(context.Background(), w.tables, covers, nil)
	must(t, err)
	for _, tb := range w.tables {
		w.want[tb] = slices.DeleteFunc(slices.Clone(w.want[tb]), func(r varve.Reading) bool { return covers(&r) })
	}
}

// accept accepts the archive of a table, and returns 1 if its record had to change.
func (w *mergeWorld) accept(t *rapid.T, tb grid.Table) int {
	ctx, a := context.Background(), w.whole()
	p, err := archive.NewAcceptor(a).Plan(ctx, tb, nil)
	must(t, err)
	if p.Whole {
		return 0
	}
	if p.Loses() && !w.hasForeignManifest(p) || p.Rewrite || p.Added > 0 || p.Readings != int64(len(w.want[tb])) {
		t.Fatalf("the plan for %s is %+v, want %d readings", tb, p, len(w.want[tb]))
	}
	if p.Record.State == archive.Archived && p.Erased != p.Record.Readings-int64(len(w.want[tb])) {
		t.Fatalf("the plan for %s explains %d of %d readings", tb, p.Erased, p.Record.Readings-int64(len(w.want[tb])))
	}
	if _, err := archive.NewAcceptor(a).Accept(ctx, tb, nil, "other"); varve.FailureOf(err) != varve.Conflict {
		t.Fatalf("another plan: %v", err)
	}
	for range 2 { // the second request is a retry
		r, err := archive.NewAcceptor(a).Accept(ctx, tb, nil, p.Digest())
		must(t, err)
		must(t, a.Verify(ctx, &r))
	}
	return 1
}

// hasForeignManifest reports whether a plan loses nothing but the manifest of another program.
func (w *mergeWorld) hasForeignManifest(p *archive.Acceptance) bool {
	for i := range p.Others {
		if !slices.Contains(w.foreign, p.Others[i].Manifest) {
			return false
		}
	}
	return len(p.Others) > 0 && p.Unexplained == 0 && p.Lost.Days == 0 && p.Changed.Days == 0 && !p.DaysUnknown
}

// checkNothingUnrecorded checks that only objects of other programs are unrecorded.
func checkNothingUnrecorded(t *rapid.T, w *mergeWorld) {
	records, err := w.whole().Catalog().List(context.Background())
	must(t, err)
	for i := range records {
		list, err := archive.ListUnrecorded(context.Background(), w.whole(), &records[i])
		must(t, err)
		for _, o := range list {
			if !slices.Contains(w.foreign, o.Key) {
				t.Fatalf("%s is unrecorded", o.Key)
			}
		}
	}
}

// TestAccept_KeepsMergedArchiveOfTableWithoutRecord accepts a merged archive for one of its tables, while the
// other tables have no record. Neither an erasure nor the end of the retention may delete the readings of the
// other tables. Once the archive is accepted for all tables, the erasure must succeed.
func TestAccept_KeepsMergedArchiveOfTableWithoutRecord(t *testing.T) {
	withMergeWorld(t, func(t *rapid.T, w *mergeWorld) {
		ctx, a := context.Background(), w.whole()
		w.mergeAll(t, a)
		restoreRecords(t, w.store, nil)
		first, other := w.tables[0], w.tables[1]
		w.accept(t, first)
		erased := ofDevice("a")
		_, err := a.Erase(ctx, []grid.Table{first}, erased, nil)
		if err == nil || !strings.Contains(err.Error(), "may have the only copy of") {
			t.Fatalf("erasure while %s has no record: %v", other, err)
		}
		w.now = w.now.Add(1000 * time.Hour)
		_, err = a.Expire(ctx, time.Hour, func(grid.Table) bool { return false })
		if err == nil {
			t.Fatal("the merged archive was deleted")
		}
		for _, tb := range w.tables {
			w.accept(t, tb)
		}
		w.check(t)
		_, err = a.Erase(ctx, []grid.Table{first}, erased, nil)
		must(t, err)
		w.want[first] = slices.DeleteFunc(w.want[first], func(r varve.Reading) bool { return erased(&r) })
		w.check(t)
	})
}
