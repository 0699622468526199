package archive_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/archive"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/internal/lanes"
	"github.com/varvedb/varve/objectstore"
	"github.com/varvedb/varve/store"
)

// interruptedObjects calls the function "do" once, before it writes the first file of readings
// whose key contains the given part. It counts the calls of Stat, and the reads of whole files of
// readings.
type interruptedObjects struct {
	objectstore.Store
	part         string
	do           func()
	stats, reads int
}

func (o *interruptedObjects) PutNew(ctx context.Context, key string, body []byte) error {
	if do := o.do; do != nil && strings.Contains(key, "/part-") && strings.Contains(key, o.part) {
		o.do = nil
		do()
	}
	return o.Store.PutNew(ctx, key, body)
}

func (o *interruptedObjects) Stat(ctx context.Context, key string) (objectstore.Object, error) {
	o.stats++
	return o.Store.Stat(ctx, key)
}

func (o *interruptedObjects) Get(ctx context.Context, key string, offset, size int64) ([]byte, error) {
	if strings.Contains(key, "/part-") && size < 0 {
		o.reads++
	}
	return o.Store.Get(ctx, key, offset, size)
}

// interruptedItems calls a function once, before the n-th Get of a record of an archive.
type interruptedItems struct {
	store.Items
	n  int
	do func()
}

func (i *interruptedItems) Get(ctx context.Context, keys []store.Key, consistent bool) ([]store.Item, error) {
	if keys[0].PK == archive.RecordsPK {
		if i.n--; i.n == 0 {
			i.do()
		}
	}
	return i.Items.Get(ctx, keys, consistent)
}

// archiverOf returns an Archiver with other items and objects.
func (w *mergeWorld) archiverOf(items store.Items, objects objectstore.Store) *archive.Archiver {
	return archive.New(archive.Options{
		Store: w.store, Items: items, Objects: objects, Prefix: "p",
		ClassOf: func(grid.Table) string { return "default" }, Now: w.clock, ExactCounts: true, GroupRows: 7, FileBytes: 300,
	})
}

// mergeAll merges all archives, and deletes the replaced files.
func (w *mergeWorld) mergeAll(t *rapid.T, a *archive.Archiver) {
	for range 3 {
		_, err := a.Merge(context.Background(), nil, true)
		must(t, err)
	}
}

func ofDevice(device string) func(*varve.Reading) bool {
	return func(r *varve.Reading) bool { return r.Device == device }
}

func (w *mergeWorld) count(t grid.Table, covers func(*varve.Reading) bool) (n int) {
	for i := range w.want[t] {
		if covers(&w.want[t][i]) {
			n++
		}
	}
	return n
}

// TestErase_HeedsHoldDuringErasure puts an archive on hold at a random read of a record during an erasure.
// From then on, the readings of the archive must not change. If the hold prevents the erasure, the erasure
// must fail.
func TestErase_HeedsHoldDuringErasure(t *testing.T) {
	withMergeWorld(t, func(t *rapid.T, w *mergeWorld) {
		a, covers, held := w.whole(), ofDevice("a"), w.tables[1]
		if rapid.Bool().Draw(t, "merged") {
			w.mergeAll(t, a)
		}
		before := 0
		items := &interruptedItems{Items: w.store, n: rapid.IntRange(1, 6).Draw(t, "read"), do: func() {
			r, err := a.Catalog().Hold(context.Background(), held, "case 7")
			must(t, err)
			before = int(r.Readings)
		}}
		_, err := w.archiverOf(items, w.objects).Erase(context.Background(), w.tables[:2], covers, nil)
		if items.n > 0 {
			t.Skip("the erasure reads fewer records")
		}
		r, _, failed := a.Catalog().Get(context.Background(), held)
		must(t, failed)
		if int(r.Readings) != before {
			t.Fatalf("the archive has %d readings after the hold, want %d: %v", r.Readings, before, err)
		}
		if before == len(w.want[held]) && w.count(held, covers) > 0 && err == nil {
			t.Fatalf("an erasure that a hold prevented returned no error")
		}
	})
}

// TestErase_LeavesNoFileAfterDiscard discards the merged archive that an erasure is writing. After the next
// erasure and merges, each object in a merged archive must belong to a record.
func TestErase_LeavesNoFileAfterDiscard(t *testing.T) {
	withMergeWorld(t, func(t *rapid.T, w *mergeWorld) {
		ctx, a, covers := context.Background(), w.whole(), ofDevice("a")
		w.mergeAll(t, a)
		objects := &interruptedObjects{Store: w.objects, part: "merged-", do: func() {
			_, err := a.Merge(ctx, nil, true)
			must(t, err)
		}}
		_, err := w.archiverOf(w.store, objects).Erase(ctx, w.tables, covers, nil)
		if objects.do != nil {
			t.Skip("no archive was rewritten")
		}
		if err == nil {
			t.Fatalf("the erasure succeeded without its files")
		}
		_, err = a.Erase(ctx, w.tables, covers, nil)
		must(t, err)
		w.mergeAll(t, a)
		list, err := a.Catalog().ListMerged(ctx)
		must(t, err)
		must(t, w.objects.List(ctx, "", func(o objectstore.Object) error {
			for i := range list {
				if strings.HasPrefix(o.Key, list[i].Dir) {
					return nil
				}
			}
			if strings.Contains(o.Key, "table=merged-") {
				return errors.New(o.Key + " belongs to no record")
			}
			return nil
		}))
	})
}

// TestMerge_ComparesNoFilesAtRest checks that a run without work compares no files. It also checks that an
// erasure of several tables reads each file at most three times: to count, to rewrite and to verify.
func TestMerge_ComparesNoFilesAtRest(t *testing.T) {
	withMergeWorld(t, func(t *rapid.T, w *mergeWorld) {
		ctx, a := context.Background(), w.whole()
		w.mergeAll(t, a)
		objects := &interruptedObjects{Store: w.objects}
		observed := w.archiverOf(w.store, objects)
		_, err := observed.Merge(ctx, nil, false)
		must(t, err)
		if objects.stats+objects.reads > 0 {
			t.Fatalf("a run without work compared %d files and read %d", objects.stats, objects.reads)
		}
		parts := 0
		must(t, w.objects.List(ctx, "", func(o objectstore.Object) error {
			if strings.Contains(o.Key, "/part-") {
				parts++
			}
			return nil
		}))
		_, err = observed.Erase(ctx, w.tables, ofDevice("a"), nil)
		must(t, err)
		if most := 3 * parts; objects.reads > most {
			t.Fatalf("%d reads of parts, want at most %d", objects.reads, most)
		}
	})
}

// TestMerge_HeedsRate checks that a merge reads at most Options.Rate readings per second. It also checks that
// the merge and its verification each get a pace from Options.Pace.
func TestMerge_HeedsRate(t *testing.T) {
	withMergeWorld(t, func(t *rapid.T, w *mergeWorld) {
		readings := 0
		for _, tb := range w.tables {
			readings += len(w.want[tb])
		}
		bulk, paces := lanes.New(time.Now), 0
		o := w.options(&process{at: -1})
		o.Rate, o.Pace = 500, func() *lanes.Pace {
			paces++
			return bulk.Pace()
		}
		begin := time.Now()
		done, err := archive.New(o).Merge(context.Background(), nil, true)
		must(t, err)
		if took, want := time.Since(begin), time.Duration(readings)*time.Second/500; len(done) != 1 || took < want || paces != 2 {
			t.Fatalf("%d merges of %d readings took %s and %d paces, want %s and 2", len(done), readings, took, paces, want)
		}
	})
}
