package archive_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/archive"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/objectstore"
	"github.com/varvedb/varve/store"
)

func (w *damagedWorld) keys(t *testing.T, dir string) map[string]bool {
	t.Helper()
	keys := map[string]bool{}
	if err := w.objects.List(t.Context(), dir, func(o objectstore.Object) error { keys[o.Key] = true; return nil }); err != nil {
		t.Fatal(err)
	}
	return keys
}

// accept accepts the stored archive, and fails the test unless the plan reports a loss.
func (w *damagedWorld) accept(t *testing.T) archive.Record {
	t.Helper()
	p := w.plan(t)
	if !p.Loses() {
		t.Fatalf("%+v", p)
	}
	r, err := archive.NewAcceptor(w.Archiver).Accept(t.Context(), table, nil, p.Digest())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func (w *damagedWorld) checkExist(t *testing.T, dir string, want map[string]bool) {
	t.Helper()
	now := w.keys(t, dir)
	for key := range want {
		if !now[key] {
			t.Errorf("%s was deleted", key)
		}
	}
}

// TestAccept_MergeKeepsDamagedFiles merges an accepted archive. The damaged files of the earlier archive must
// stay.
func TestAccept_MergeKeepsDamagedFiles(t *testing.T) {
	w := newDamagedWorld(t)
	w.removeFile(t, &w.record, 1)
	damaged := w.keys(t, w.record.Dir)
	w.accept(t)
	mergeWithEmpty(t, w)
	if _, err := w.Merge(t.Context(), nil, false); err != nil {
		t.Fatal(err)
	}
	w.checkExist(t, w.record.Dir, damaged)
	if now := w.keys(t, w.record.Dir); len(now) != len(damaged) {
		t.Errorf("%d own objects remain, want %d", len(now), len(damaged))
	}
}

// TestAccept_KeepsMergedArchiveOfEarlierRecord accepts another archive of a table whose record points to a
// damaged merged archive. A later merge must not delete the merged archive.
func TestAccept_KeepsMergedArchiveOfEarlierRecord(t *testing.T) {
	w := newDamagedWorld(t)
	mergeWithEmpty(t, w)
	for _, device := range []string{"d00003", "d00007"} { // the second archive has a higher number than the record
		w.archiveOther(t, func(r *varve.Reading) bool { return r.Device != device })
	}
	w.removeFile(t, &w.record, 1)
	merged := w.keys(t, w.record.Merged)
	if r := w.accept(t); r.Merged != "" || r.Generation != 2 {
		t.Fatal(r)
	}
	records, err := w.Catalog().List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i := range records {
		if records[i].Table == table {
			continue
		}
		if err := w.store.Delete(t.Context(), store.Key{PK: archive.RecordsPK, SK: records[i].Table.Name()}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.Merge(t.Context(), nil, false); err != nil {
		t.Fatal(err)
	}
	w.checkExist(t, w.record.Merged, merged)
}

// TestAccept_NumbersManifestAboveAllOthers copies the readable readings of an archive without a record. The
// number of the new manifest must exceed the numbers of all other ones, and the manifest must still state the
// earlier erasure. A later erasure must delete the files of all earlier archives of the table.
func TestAccept_NumbersManifestAboveAllOthers(t *testing.T) {
	w := newDamagedWorld(t)
	if _, err := w.Erase(t.Context(), []grid.Table{table}, func(r *varve.Reading) bool { return r.Device == "d00007" }, nil); err != nil {
		t.Fatal(err)
	}
	var err error
	if w.record, _, err = w.Catalog().Get(t.Context(), table); err != nil || w.record.Generation != 2 {
		t.Fatal(w.record, err)
	}
	w.removeFile(t, &w.record, 1)
	w.forget(t)
	r := w.accept(t)
	if r.Generation != 3 {
		t.Errorf("the manifest has the number %d, want 3", r.Generation)
	}
	body, err := w.objects.Get(t.Context(), r.ManifestKey(), 0, -1)
	if err != nil {
		t.Fatal(err)
	}
	var m archive.Manifest
	if err := json.Unmarshal(body, &m); err != nil || len(m.Replaces) != 1 || m.Replaces[0].Readings != manyReadings {
		t.Errorf("replaces %+v, %v", m.Replaces, err)
	}
	if _, err := w.Erase(t.Context(), []grid.Table{table}, func(r *varve.Reading) bool { return r.Device == "d00000" }, nil); err != nil {
		t.Fatal(err)
	}
	if r, _, err = w.Catalog().Get(t.Context(), table); err != nil {
		t.Fatal(err)
	}
	if now, want := len(w.keys(t, r.Dir)), len(w.FilesOf(t.Context(), &r))+1; now != want {
		t.Errorf("%d objects remain, want %d", now, want)
	}
}

// TestAccept_FailureLeavesNoRecord accepts an archive of a table without a record. Each write of an object
// fails in turn. After a failure, the table must still have no record, because a record could block erasures.
func TestAccept_FailureLeavesNoRecord(t *testing.T) {
	w := newDamagedWorld(t)
	w.removeFile(t, &w.record, 1)
	w.forget(t)
	failed := 0
	for n := 0; ; n++ {
		p, err := archive.NewAcceptor(w.Archiver).Plan(t.Context(), table, nil)
		if err != nil {
			t.Fatal(err)
		}
		f := &onceFailing{Store: w.objects, at: n}
		a := archive.New(archive.Options{Store: w.store, Items: w.store, Objects: f, Prefix: "p", ClassOf: func(grid.Table) string { return "default" }, Now: clock, GroupRows: 500})
		if _, err := archive.NewAcceptor(a).Accept(t.Context(), table, nil, p.Digest()); err == nil {
			break
		}
		failed++
		if r, found, err := w.Catalog().Get(t.Context(), table); err != nil || found {
			t.Fatalf("write %d failed: record %+v, %v", n, r, err)
		}
	}
	if failed == 0 {
		t.Error("no write failed")
	}
}

// onceFailing is an object store that fails one write of an object, the one with index at.
type onceFailing struct {
	objectstore.Store
	at int
}

func (f *onceFailing) PutNew(ctx context.Context, key string, body []byte) error {
	if f.at--; f.at < 0 && f.at > -2 {
		return errors.New("the disk is full")
	}
	return f.Store.PutNew(ctx, key, body)
}
