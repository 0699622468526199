package archive_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/varvedb/varve/archive"
	"github.com/varvedb/varve/objectstore"
	"github.com/varvedb/varve/registry"
	"github.com/varvedb/varve/store"
)

// records returns copies of all records of archives, as a backup of the registry has them.
func (w *mergeWorld) records(t *rapid.T) (items []store.Item) {
	for _, pk := range []string{archive.RecordsPK, archive.MergedPK} {
		for it, err := range registry.All(context.Background(), w.store, store.ItemQuery{PK: pk, Consistent: true}) {
			must(t, err)
			items = append(items, *it)
		}
	}
	return items
}

// restoreRecords replaces all records of archives by the records in a backup.
func (w *mergeWorld) restoreRecords(t *rapid.T, backup []store.Item) {
	for _, it := range w.records(t) {
		must(t, w.store.Delete(context.Background(), it.Key))
	}
	for i := range backup {
		must(t, w.store.Put(context.Background(), backup[i]))
	}
}

// TestMerge_FindsMergedArchiveOfRestoredRegistry takes a backup of the registry at each step of a merge, completes
// the merge, and restores the backup. The search for the merged archive dies after a random step. In the
// end, each record has all readings of its table.
func TestMerge_FindsMergedArchiveOfRestoredRegistry(t *testing.T) {
	dir := t.TempDir()
	lost := 0
	rapid.Check(t, func(t *rapid.T) {
		w := newMergeWorld(t, dir)
		defer func() { must(t, os.RemoveAll(w.root)) }()
		_, _ = w.archiver(genProcess(t)).Merge(context.Background(), nil, true) // may die
		backup := w.records(t)
		w.mergeAll(t, w.whole())
		w.restoreRecords(t, backup)
		if w.lostManifests(t) > 0 {
			lost++
		}
		for range rapid.IntRange(0, 3).Draw(t, "runs") {
			_, _ = w.archiver(genProcess(t)).Merge(context.Background(), nil, true) // may die
		}
		w.end(t)
	})
	if lost == 0 {
		t.Error("no backup had records whose files were deleted")
	}
}

// lostManifests returns the number of records whose manifest is missing.
func (w *mergeWorld) lostManifests(t *rapid.T) (n int) {
	records, err := w.whole().Catalog().List(context.Background())
	must(t, err)
	for i := range records {
		if _, err := w.objects.Stat(context.Background(), records[i].ManifestKey()); err != nil {
			n++
		}
	}
	return n
}

// TestMerge_KeepsMergedArchiveWithOtherReadings restores a registry from before a merge and an erasure. The merged
// archive lacks the erased readings, so no record may point to it. It may have the only copy of the remaining
// readings, so it is not deleted.
func TestMerge_KeepsMergedArchiveWithOtherReadings(t *testing.T) {
	withMergeWorld(t, func(t *rapid.T, w *mergeWorld) {
		ctx, a := context.Background(), w.whole()
		if w.count(w.tables[0], ofDevice("a")) == 0 {
			t.Skip("the first table has no readings of the device")
		}
		backup := w.records(t)
		w.mergeAll(t, a)
		_, err := a.Erase(ctx, w.tables[:1], ofDevice("a"))
		must(t, err)
		w.mergeAll(t, a)
		before := w.merges(t)
		w.restoreRecords(t, backup)
		for range 3 {
			_, err := w.whole().Merge(ctx, nil, true)
			if err == nil || !strings.Contains(err.Error(), "has other readings of table "+w.tables[0].Name()) {
				t.Fatalf("a lost archive was not reported: %v", err)
			}
		}
		if after := w.merges(t); after != before {
			t.Fatalf("merged archives have the files\n%s\nwant\n%s", after, before)
		}
		r, _, err := a.Catalog().Get(ctx, w.tables[1])
		must(t, err)
		if r.Merged == "" {
			t.Fatalf("the unchanged table was not found: %+v", r)
		}
	})
}

// merges returns the keys of all objects in merged archives.
func (w *mergeWorld) merges(t *rapid.T) (keys string) {
	must(t, w.objects.List(context.Background(), "", func(o objectstore.Object) error {
		if strings.Contains(o.Key, "merged-") {
			keys += o.Key + "\n"
		}
		return nil
	}))
	return keys
}

// unlistedObjects fails to list objects for a number of times.
type unlistedObjects struct {
	objectstore.Store
	fails int
}

func (o *unlistedObjects) List(ctx context.Context, prefix string, each func(objectstore.Object) error) error {
	if o.fails > 0 {
		o.fails--
		return errors.New("the list is not available")
	}
	return o.Store.List(ctx, prefix, each)
}

// TestMerge_KeepsOnlyCopyIfSearchFails takes a backup of the registry before the first record points to a merged
// archive. After the backup is restored, no record points to the merged archive, and the single files are
// deleted. If the search for it fails, it must stay.
func TestMerge_KeepsOnlyCopyIfSearchFails(t *testing.T) {
	withMergeWorld(t, func(t *rapid.T, w *mergeWorld) {
		var backup []store.Item
		before := func() { backup = w.records(t) }
		w.mergeAll(t, w.archiverOf(slowItems{w.store, &before}, w.objects))
		w.restoreRecords(t, backup)
		if w.lostManifests(t) != len(w.tables) {
			t.Fatal("the single archives were not deleted")
		}
		files := w.merges(t)
		_, err := w.archiverOf(w.store, &unlistedObjects{w.objects, len(w.tables)}).Merge(context.Background(), nil, true)
		if err == nil || !strings.Contains(err.Error(), "the list is not available") {
			t.Fatalf("a search without a list succeeded: %v", err)
		}
		if got := w.merges(t); got != files {
			t.Fatalf("merged archives have the files\n%s\nwant\n%s", got, files)
		}
		w.end(t)
	})
}
