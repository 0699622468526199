package engine_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/engine"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/health"
	"github.com/varvedb/varve/objectstore"
	"github.com/varvedb/varve/objectstore/folder"
	"github.com/varvedb/varve/rotator"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/local"
)

// archiveWorld is an engine on the embedded store that archives to a folder.
type archiveWorld struct {
	*engine.Engine
	t       *testing.T
	root    string
	objects *folder.Folder
	clock   time.Time
}

const day = 24 * time.Hour

// openArchiveWorld returns an engine that drops only archived tables, and deletes archives after 30
// days.
func openArchiveWorld(t *testing.T) *archiveWorld {
	t.Helper()
	return openArchiveWorldOn(t, func(w *archiveWorld) (store.Store, error) {
		return local.Open(local.Options{Dir: filepath.Join(w.root, "data"), MinFree: -1, Now: w.now})
	})
}

func (w *archiveWorld) now() time.Time { return w.clock }

// openArchiveWorldOn is like openArchiveWorld, on the store that the function "open" opens.
func openArchiveWorldOn(t *testing.T, open func(*archiveWorld) (store.Store, error)) *archiveWorld {
	t.Helper()
	w := &archiveWorld{t: t, root: t.TempDir(), clock: time.Date(2026, 3, 15, 0, 0, 0, 0, time.UTC)}
	var err error
	if w.objects, err = folder.Open(filepath.Join(w.root, "archive"), folder.Shared); err != nil {
		t.Fatal(err)
	}
	st, err := open(w)
	if err != nil {
		t.Fatal(err)
	}
	policy := engine.DefaultRotation()
	policy.Drop, policy.ArchiveFirst = true, true
	w.Engine, err = engine.Open(t.Context(), engine.Options{
		Store: st, Rotation: policy, Now: w.now, NoRollups: true,
		Archive: engine.Archive{Objects: w.objects, Prefix: "p", ExactCounts: true, Retention: 30 * day, Merge: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	w.WaitForFirst()
	return w
}

// run advances the clock, and then runs the rotator. It returns the number of actions by kind.
func (w *archiveWorld) run(after time.Duration) map[rotator.Kind]int {
	w.t.Helper()
	w.clock = w.clock.Add(after)
	p, err := w.Rotator.Run(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	return p.Counts()
}

// TestArchive_KeepsTablesOnHold checks that a table on hold is archived and never dropped. Its
// archive must not be deleted after the retention of archives.
func TestArchive_KeepsTablesOnHold(t *testing.T) {
	w := openArchiveWorld(t)
	table := tableOfOne(t, w.Engine, w.clock)
	if err := w.Store.Hold(t.Context(), table, "case 7"); err != nil {
		t.Fatal(err)
	}
	w.run(400 * day)
	for range 3 {
		w.ArchiveTables()
		w.run(40 * day)
	}
	w.ArchiveTables()
	r, found, err := w.Archiver.Catalog().Get(t.Context(), table)
	if err != nil || !found || w.Archiver.Verify(t.Context(), &r) != nil || r.Readings != 1 {
		t.Errorf("the archive of a table on hold: %+v, %t, %v", r, found, err)
	}
	if !exists(t, w.Engine, table) {
		t.Error("a table on hold was dropped")
	}
}

// TestArchive_ReplacesDamagedArchiveBeforeDrop follows a table on the embedded store from its retirement
// to its drop. A damaged archive must stop the drop and set a condition. The next run of the job must write
// another archive, so that the table is dropped. After the retention of archives, the archive must be
// deleted.
func TestArchive_ReplacesDamagedArchiveBeforeDrop(t *testing.T) {
	w := openArchiveWorld(t)
	e, run, objects, root := w.Engine, w.run, w.objects, w.root
	table := tableOfOne(t, e, w.clock)
	if n := run(400 * day); n[rotator.Retire] == 0 {
		t.Fatal("no table was retired")
	}
	if n := run(10 * day); n[rotator.Drop] != 0 {
		t.Fatalf("%d tables were dropped without an archive", n[rotator.Drop])
	}
	e.ArchiveTables()
	damageParts(t, root)
	run(time.Hour)
	if !e.Conditions.Holds(health.ArchiveFailing) || e.ArchiveStats().Refused != 1 || !exists(t, e, table) {
		t.Fatalf("with a damaged archive: %+v, %+v, the table exists: %t", e.Conditions.List(), e.ArchiveStats(), exists(t, e, table))
	}
	e.ArchiveTables()
	if e.Conditions.Holds(health.ArchiveFailing) {
		t.Errorf("after another archive: %+v", e.Conditions.List())
	}
	run(time.Hour)
	if exists(t, e, table) {
		t.Fatal("the table was not dropped after its second archive")
	}
	r, found, err := e.Archiver.Catalog().Get(t.Context(), table)
	if err != nil || !found || r.Generation != 2 || e.Archiver.Verify(t.Context(), &r) != nil {
		t.Fatalf("%+v, %t, %v", r, found, err)
	}
	w.clock = w.clock.Add(31 * day)
	e.ArchiveTables()
	files := 0
	if err := objects.List(t.Context(), r.Dir, func(o objectstore.Object) error { files++; return nil }); err != nil {
		t.Fatal(err)
	}
	if _, found, err := e.Archiver.Catalog().Get(t.Context(), table); found || err != nil || files != 0 {
		t.Errorf("after the retention: found %t, %d files, %v", found, files, err)
	}
}

func tableOfOne(t *testing.T, e *engine.Engine, at time.Time) grid.Table {
	t.Helper()
	q, err := e.Router.Admit()
	if err != nil {
		t.Fatal(err)
	}
	defer q.Done()
	r := []varve.Reading{{
		Series: varve.Series{Tenant: varve.DefaultTenant, Stream: "weather", Device: "d"}, Time: at,
		Fields: []varve.Field{{Name: "v", Value: varve.IntValue(1)}},
	}}
	verdicts := make([]varve.Verdict, 1)
	if err := q.Write(t.Context(), r, verdicts); err != nil || verdicts[0].Outcome != varve.Stored {
		t.Fatal(err, verdicts)
	}
	infos, err := e.Rotator.Tables(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, in := range infos {
		if in.Readings == 1 {
			return in.Table
		}
	}
	t.Fatal("no table has the reading")
	return grid.Table{}
}

func exists(t *testing.T, e *engine.Engine, table grid.Table) bool {
	t.Helper()
	infos, err := e.Store.Tables(t.Context(), store.Filter{Any: true, Window: varve.AllTime()})
	if err != nil {
		t.Fatal(err)
	}
	for i := range infos {
		if infos[i].Table == table {
			return true
		}
	}
	return false
}

// damageParts changes one byte of each file with readings.
func damageParts(t *testing.T, root string) {
	t.Helper()
	files, err := filepath.Glob(root + "/archive/p/*/*/*/*/part-*.parquet")
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		body, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		body[len(body)/2] ^= 1
		if err := os.WriteFile(name, body, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
