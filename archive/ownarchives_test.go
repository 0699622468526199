package archive_test

import (
	"context"
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/varvedb/varve/archive"
	"github.com/varvedb/varve/grid"
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

func (w *mergeWorld) mergedFiles(t *rapid.T) (keys string) {
	must(t, w.objects.List(context.Background(), "", func(o objectstore.Object) error {
		if strings.Contains(o.Key, "merged-") {
			keys += o.Key + "\n"
		}
		return nil
	}))
	return keys
}

// pointItems calls a function once, before a record points to a merged archive and after n others do.
type pointItems struct {
	store.Items
	n  int
	do func()
}

func (i *pointItems) Put(ctx context.Context, it store.Item, conds ...store.Cond) error {
	if it.PK == archive.RecordsPK && it.Attrs["merged"].Text() != "" {
		if i.n == 0 {
			i.do()
		}
		i.n--
	}
	return i.Items.Put(ctx, it, conds...)
}

// deleteOwnFile deletes one file of a table's own archive.
func (w *mergeWorld) deleteOwnFile(t *rapid.T, tb grid.Table) {
	var file string
	must(t, w.objects.List(context.Background(), archive.Dir("p", "default", tb), func(o objectstore.Object) error {
		if strings.Contains(o.Key, "/digests-") {
			file = o.Key
		}
		return nil
	}))
	must(t, w.objects.Delete(context.Background(), file))
}

// TestMerge_KeepsOnlyCopyAfterRestore takes a backup of the registry before a record points to a merged archive. A
// later run then deletes the single archives, or one file of them. After the backup is restored, neither
// merges nor erasures may delete the merged archive.
func TestMerge_KeepsOnlyCopyAfterRestore(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		w := newMergeWorld(t, dir)
		defer func() { must(t, os.RemoveAll(w.root)) }()
		ctx := context.Background()
		var backup []store.Item
		items := &pointItems{Items: w.store, n: rapid.IntRange(0, len(w.tables)-1).Draw(t, "pointed"), do: func() { backup = w.records(t) }}
		_, err := w.archiverOf(items, w.objects).Merge(ctx, nil, true)
		must(t, err)
		if rapid.Bool().Draw(t, "one file") {
			w.deleteOwnFile(t, w.tables[0])
		} else {
			w.mergeAll(t, w.whole())
		}
		w.restoreRecords(t, backup)
		files := w.mergedFiles(t)
		a := w.whole()
		_, _ = a.Erase(ctx, w.tables[len(w.tables)-1:], ofDevice("a"), nil) // it fails unless it finds nothing to erase
		for range 3 {
			_, _ = a.Merge(ctx, nil, true) // it reports missing archives, or points all records to the merged one
		}
		if got := w.mergedFiles(t); got != files {
			t.Fatalf("merged archives have the files\n%s\nwant\n%s", got, files)
		}
	})
}
