package archive_test

import (
	"context"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/archive"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/objectstore"
	"github.com/varvedb/varve/objectstore/folder"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/mem"
)

// mergeWorld has the archives of several dropped tables of one arrival month.
type mergeWorld struct {
	store   store.Store
	objects *folder.Folder
	root    string
	tables  []grid.Table
	want    map[grid.Table][]varve.Reading
	exist   map[grid.Table]bool
	foreign []string // keys of objects of another program
	now     time.Time
	merged  int
}

// TestMerge_LosesNoReading merges, erases, holds, restores, drops and expires archives, with faults in
// between. After every step, each recorded archive must have exactly the readings of its table, and the
// objects of other programs must exist.
func TestMerge_LosesNoReading(t *testing.T) {
	dir := t.TempDir()
	merged, before := 0, injected.Load()
	checkWithin(t, func(t *rapid.T) {
		w := newMergeWorld(t, dir)
		defer func() { must(t, os.RemoveAll(w.root)) }()
		t.Repeat(map[string]func(*rapid.T){
			"merge":       w.merge,
			"merge again": w.merge,
			"merge more":  w.merge,
			"hold":        w.hold,
			"erase":       w.erase,
			"restore":     w.restore,
			"drop":        w.drop,
			"drop again":  w.drop,
			"expire":      w.expire,
			"":            w.check,
		})
		w.end(t)
		merged += w.merged
	})
	t.Logf("%d faults, %d merged archives", injected.Load()-before, merged)
	if merged == 0 && !testing.Short() { // under -short, one sequence runs
		t.Error("no archives were ever merged")
	}
}

func newMergeWorld(t *rapid.T, dir string) *mergeWorld {
	w := &mergeWorld{want: map[grid.Table][]varve.Reading{}, exist: map[grid.Table]bool{}, now: now}
	w.store = mem.New(w.clock)
	var err error
	w.root, err = os.MkdirTemp(dir, "objects")
	must(t, err)
	w.objects, err = folder.Open(w.root, folder.Shared)
	must(t, err)
	for i := range rapid.IntRange(2, 4).Draw(t, "tables") {
		r, ok := grid.DefaultPolicy().Locate(table.Month.Start().AddDate(0, 0, 8-7*i), table.Month)
		if !ok {
			t.Fatal("no table")
		}
		tb := grid.Table{Prefix: "varve", Range: r, Month: table.Month}
		w.tables = append(w.tables, tb)
		w.want[tb] = fill(t, w.store, tb)
		must(t, w.store.Retire(context.Background(), tb, now.Add(-time.Hour)))
		if rapid.IntRange(0, 3).Draw(t, "foreign") == 0 {
			key := archive.Dir("p", "default", tb) + rapid.SampledFrom([]string{"manifest.json", "part-0123456789abcdef-00000.parquet", "readme"}).Draw(t, "name")
			must(t, w.objects.PutNew(context.Background(), key, []byte("foreign")))
			w.foreign = append(w.foreign, key)
		}
		w.exist[tb] = true
		w.drop1(t, tb)
	}
	return w
}

func (w *mergeWorld) clock() time.Time { return w.now }

// archiver returns an archiver whose steps meet the faults of a process.
func (w *mergeWorld) archiver(p *process) *archive.Archiver { return archive.New(w.options(p)) }

func (w *mergeWorld) options(p *process) archive.Options {
	return archive.Options{
		Store: faultySource{w.store, p}, Items: faultyItems{w.store, p}, Objects: faultyObjects{w.objects, p}, Prefix: "p",
		ClassOf: func(grid.Table) string { return "default" }, Now: w.clock, ExactCounts: true, GroupRows: 7, FileBytes: 3000,
	}
}

func (w *mergeWorld) whole() *archive.Archiver { return w.archiver(&process{at: -1}) }

func (w *mergeWorld) existing() (list []grid.Table) {
	for _, tb := range w.tables {
		if w.exist[tb] {
			list = append(list, tb)
		}
	}
	return list
}

func (w *mergeWorld) drop1(t *rapid.T, tb grid.Table) {
	w.now = w.now.Add(time.Minute)
	a := w.whole()
	if _, err := a.Archive(context.Background(), info(t, w.store, tb)); err != nil {
		t.Fatalf("archive %s: %v", tb, err)
	}
	must(t, w.store.Drop(context.Background(), tb))
	w.exist[tb] = false
}

func (w *mergeWorld) merge(t *rapid.T) {
	p := genProcess(t)
	done, err := w.archiver(p).Merge(context.Background(), w.existing(), true)
	w.merged += len(done)
	if p.at < 0 && err != nil {
		t.Fatalf("merge without a fault: %v", err)
	}
}

func (w *mergeWorld) one(t *rapid.T) grid.Table { return rapid.SampledFrom(w.tables).Draw(t, "table") }

func (w *mergeWorld) hold(t *rapid.T) {
	tb := w.one(t)
	if r, found, err := w.whole().Catalog().Get(context.Background(), tb); err != nil || !found || r.State != archive.Archived {
		return
	}
	_, err := w.whole().Catalog().Hold(context.Background(), tb, rapid.SampledFrom([]string{"", "case 7"}).Draw(t, "hold"))
	must(t, err)
}

// erase erases readings of a device from the archives of random dropped tables, except archives on hold.
func (w *mergeWorld) erase(t *rapid.T) {
	ctx, covers := context.Background(), genCover(t)
	var tables []grid.Table
	for _, tb := range w.tables {
		r, found, err := w.whole().Catalog().Get(ctx, tb)
		must(t, err)
		if found && r.Hold == "" && r.State == archive.Archived && !w.exist[tb] && rapid.Bool().Draw(t, "erase") {
			tables = append(tables, tb)
		}
	}
	p := genProcess(t)
	n, err := w.archiver(p).Erase(ctx, tables, covers, nil)
	for _, tb := range tables {
		rest := slices.DeleteFunc(slices.Clone(w.want[tb]), func(r varve.Reading) bool { return covers(&r) })
		erased := len(w.want[tb]) - len(rest)
		if err == nil && p.at < 0 && n[tb] != int64(erased) {
			t.Fatalf("%d readings of %s were erased, want %d", n[tb], tb, erased)
		}
		r, _, failed := w.whole().Catalog().Get(ctx, tb)
		must(t, failed)
		if err == nil || slices.Equal(w.stored(t, &r), texts(rest)) {
			w.want[tb] = rest
		}
	}
	if err == nil {
		for _, tb := range tables {
			checkErased(t, w.objects, func(r *varve.Reading) bool { return tb.Window().Contains(r.Time) && covers(r) })
		}
	}
}

func (w *mergeWorld) restore(t *rapid.T) {
	tb := w.one(t)
	r, found, err := w.whole().Catalog().Get(context.Background(), tb)
	must(t, err)
	if rapid.IntRange(0, 2).Draw(t, "rarely") > 0 || !found || w.exist[tb] || r.State != archive.Archived {
		return
	}
	must(t, w.whole().Restore(context.Background(), &r, w.store))
	if got := info(t, w.store, tb).Readings; got != int64(len(w.want[tb])) {
		t.Fatalf("%d readings of %s were restored, want %d", got, tb, len(w.want[tb]))
	}
	w.exist[tb] = true
}

// drop retires, archives and drops a restored table.
func (w *mergeWorld) drop(t *rapid.T) {
	ctx, tb := context.Background(), w.one(t)
	if !w.exist[tb] {
		return
	}
	must(t, w.store.Hold(ctx, tb, ""))
	w.now = w.now.Add(time.Minute)
	must(t, w.store.Retire(ctx, tb, w.now))
	w.drop1(t, tb)
}

// expire deletes the archives that are older than a random time.
func (w *mergeWorld) expire(t *rapid.T) {
	if rapid.IntRange(0, 3).Draw(t, "rarely") > 0 {
		return
	}
	ctx, p := context.Background(), genProcess(t)
	_, err := w.archiver(p).Expire(ctx, time.Duration(rapid.IntRange(0, 10).Draw(t, "age"))*time.Minute, func(tb grid.Table) bool { return w.exist[tb] })
	if p.at < 0 && err != nil {
		t.Fatalf("expire without a fault: %v", err)
	}
}

// readings returns the readings of a record, by a complete read of each series.
func (w *mergeWorld) readings(t *rapid.T, r *archive.Record) []string {
	a := &archived{Reader: archive.NewReader(w.whole()), record: *r}
	var all []varve.Reading
	for _, stream := range []string{"s", "t"} {
		for _, device := range []string{"a", "b", "c/d"} {
			rng := store.Range{Table: r.Table, Series: varve.Series{Tenant: "acme", Stream: stream, Device: device}, Window: varve.AllTime()}
			list, err := a.read(&rng, 5)
			if err != nil {
				t.Fatalf("read the archive of %s: %v", r.Table, err)
			}
			all = append(all, list...)
		}
	}
	return texts(all)
}

// stored returns the readings of a record in its files.
func (w *mergeWorld) stored(t *rapid.T, r *archive.Record) []string {
	var all []varve.Reading
	names := w.whole().FilesOf(context.Background(), r)
	if names == nil {
		t.Fatalf("the archive of %s has no manifest", r.Table)
	}
	eachStored(w.objects, r.FilesDir(), func(_ string, list []varve.Reading) {
		for i := range list {
			if r.Table.Window().Contains(list[i].Time) {
				all = append(all, list[i])
			}
		}
	}, names)
	return texts(all)
}

// check checks that the archive of each record has the readings of its table.
func (w *mergeWorld) check(t *rapid.T) {
	ctx := context.Background()
	records, err := w.whole().Catalog().List(ctx)
	must(t, err)
	for i := range records {
		r := &records[i]
		if r.State != archive.Archived {
			continue
		}
		if got, want := w.stored(t, r), texts(w.want[r.Table]); !slices.Equal(got, want) {
			t.Fatalf("the archive of %s in %s has\n%s\nwant\n%s", r.Table, r.FilesDir(), strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	for _, key := range w.foreign {
		if body, err := w.objects.Get(ctx, key, 0, -1); err != nil || string(body) != "foreign" {
			t.Fatalf("%s, an object of another program: %q, %v", key, body, err)
		}
	}
}

// end completes all merges, and checks the readings and the objects.
func (w *mergeWorld) end(t *rapid.T) {
	ctx, a := context.Background(), w.whole()
	for _, tb := range w.tables {
		if r, found, err := a.Catalog().Get(ctx, tb); err == nil && found && r.Hold != "" {
			_, err := a.Catalog().Hold(ctx, tb, "")
			must(t, err)
		}
		w.dropIfExists(t, tb)
	}
	_, err := a.Expire(ctx, 1000*time.Hour, func(grid.Table) bool { return false }) // complete interrupted deletions
	must(t, err)
	for range 3 {
		_, err := a.Merge(ctx, nil, true)
		must(t, err)
	}
	w.check(t)
	w.checkReads(t)
	w.checkObjects(t)
}

func (w *mergeWorld) checkReads(t *rapid.T) {
	ctx, a := context.Background(), w.whole()
	records, err := a.Catalog().List(ctx)
	must(t, err)
	for i := range records {
		must(t, a.Verify(ctx, &records[i]))
		if got, want := w.readings(t, &records[i]), texts(w.want[records[i].Table]); !slices.Equal(got, want) {
			t.Fatalf("a reader of %s returns\n%s\nwant\n%s", records[i].Table, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}

func (w *mergeWorld) dropIfExists(t *rapid.T, tb grid.Table) {
	if !w.exist[tb] {
		return
	}
	must(t, w.store.Hold(context.Background(), tb, ""))
	w.now = w.now.Add(time.Minute)
	must(t, w.store.Retire(context.Background(), tb, w.now))
	w.drop1(t, tb)
}

// checkObjects checks that at most one archive of the month is not merged, and that records name all
// objects in merged archives.
func (w *mergeWorld) checkObjects(t *rapid.T) {
	ctx, a := context.Background(), w.whole()
	records, err := a.Catalog().List(ctx)
	must(t, err)
	known := map[string]bool{}
	single := 0
	for i := range records {
		r := &records[i]
		for _, key := range append(a.FilesOf(ctx, r), r.ManifestKey()) {
			known[key] = true
		}
		if r.Merged == "" {
			single++
		}
		if r.Single {
			t.Fatalf("the files of %s are still recorded", r.Table)
		}
	}
	if single > 1 {
		t.Fatalf("%d archives are not merged", single)
	}
	must(t, w.objects.List(ctx, "", func(o objectstore.Object) error {
		if strings.Contains(o.Key, "table=merged-") && !known[o.Key] {
			return fmt.Errorf("%s belongs to no record", path.Base(o.Key))
		}
		return nil
	}))
}
