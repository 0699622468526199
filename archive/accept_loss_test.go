package archive_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/archive"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/mem"
)

// archiveOther writes another archive of the table into the same folder, as a program with another registry
// does. The function "change" may change each reading, and reports whether the archive has it.
func (w *damagedWorld) archiveOther(t *testing.T, change func(*varve.Reading) bool) archive.Record {
	t.Helper()
	other := mem.New(clock)
	if err := other.Create(t.Context(), table, store.Hot); err != nil {
		t.Fatal(err)
	}
	b := manyBatch()
	b.Readings = slices.DeleteFunc(b.Readings, func(r varve.Reading) bool { return !change(&r) })
	for i := range b.Readings {
		change(&b.Readings[i])
	}
	if res := other.Write(t.Context(), []store.Batch{b}); res[0].Err != nil {
		t.Fatal(res[0].Err)
	}
	a := archive.New(archive.Options{Store: other, Items: other, Objects: w.objects, Prefix: "p", ClassOf: func(grid.Table) string { return "default" }, Now: clock})
	in := w.info()
	in.Readings = int64(len(b.Readings))
	r, err := a.Archive(t.Context(), in)
	if err != nil {
		t.Fatal(r, err)
	}
	return r
}

func (w *damagedWorld) forget(t *testing.T) {
	t.Helper()
	if err := w.store.Delete(t.Context(), store.Key{PK: archive.RecordsPK, SK: table.Name()}); err != nil {
		t.Fatal(err)
	}
}

func (w *damagedWorld) plan(t *testing.T) *archive.Acceptance {
	t.Helper()
	p, err := archive.NewAcceptor(w.Archiver).Plan(t.Context(), table, nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// replaceObject replaces the content of an object. An empty body removes it.
func (w *damagedWorld) replaceObject(t *testing.T, key, body string) {
	t.Helper()
	name := filepath.Join(w.root, filepath.FromSlash(key))
	err := os.Remove(name)
	if err == nil && body != "" {
		err = os.WriteFile(name, []byte(body), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (w *damagedWorld) digestsOf(t *testing.T, r *archive.Record) string {
	t.Helper()
	keys := w.FilesOf(t.Context(), r)
	return keys[len(keys)-1]
}

// TestAccept_ComparesOtherArchives plans the acceptance for a table without a record. An earlier archive has
// readings that the latest one lacks, and the plan must count them. The plan must also report a loss if the
// digests or the manifest of the earlier archive cannot be read.
func TestAccept_ComparesOtherArchives(t *testing.T) {
	w := newDamagedWorld(t)
	w.archiveOther(t, func(r *varve.Reading) bool { return r.Device != "d00007" })
	w.forget(t)
	p := w.plan(t)
	if p.Rewrite || !p.Loses() || p.Lost.Readings != perSeries || p.Lost.Days != perSeries || p.Lost.List[0].Series.Device != "d00007" {
		t.Errorf("%+v", p)
	}
	if len(p.Others) != 1 || p.Others[0].Manifest != w.record.ManifestKey() || p.Others[0].Readings != manyReadings || p.Others[0].Problem != "" {
		t.Errorf("other archives: %+v", p.Others)
	}
	w.replaceObject(t, w.digestsOf(t, &w.record), "")
	if p := w.plan(t); !p.Loses() || len(p.Others) != 1 || !strings.Contains(p.Others[0].Problem, "digests-") {
		t.Errorf("without digests: %+v", p)
	}
	w.replaceObject(t, w.record.ManifestKey(), "{")
	if p := w.plan(t); !p.Loses() || len(p.Others) != 1 || p.Others[0].Manifest != w.record.ManifestKey() || !strings.Contains(p.Others[0].Problem, "manifest") {
		t.Errorf("without a valid manifest: %+v", p)
	}
}

// TestAccept_ComparesContentWithRecord plans the acceptance of another archive with as many readings as the
// record. The plan must list the days whose digests differ. Without the digests of the record, it must report
// the days as unknown. While the archive is on hold, the acceptance must fail.
func TestAccept_ComparesContentWithRecord(t *testing.T) {
	w := newDamagedWorld(t)
	w.archiveOther(t, func(r *varve.Reading) bool {
		if r.Device == "d00007" {
			r.Fields = []varve.Field{{Name: "v", Value: varve.IntValue(-1)}}
		}
		return true
	})
	w.removeFile(t, &w.record, 1)
	p := w.plan(t)
	if p.Rewrite || p.Readings != manyReadings || !p.Loses() || p.Lost.Days != 0 || p.Changed.Days != perSeries || p.Changed.List[0].Series.Device != "d00007" {
		t.Errorf("%+v", p)
	}
	w.checkHolds(t, p.Digest())
	w.replaceObject(t, w.digestsOf(t, &w.record), "")
	if p := w.plan(t); !p.Loses() || !p.DaysUnknown || p.Changed.Days != 0 {
		t.Errorf("without digests: %+v", p)
	}
}

// TestAccept_RefusesErasureOnHold checks that an archive from an erasure is not accepted while the archive or
// the table is on hold. It also checks that the hold on the table is reread before the record is written.
func TestAccept_RefusesErasureOnHold(t *testing.T) {
	w := newDamagedWorld(t)
	earlier, err := w.store.Get(t.Context(), []store.Key{{PK: archive.RecordsPK, SK: table.Name()}}, true)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Erase(t.Context(), []grid.Table{table}, func(r *varve.Reading) bool { return r.Device == "d00007" }, nil); err != nil {
		t.Fatal(err)
	}
	if err := w.store.Put(t.Context(), earlier[0]); err != nil {
		t.Fatal(err)
	}
	p := w.plan(t)
	if p.Loses() || p.Erased != perSeries {
		t.Fatalf("%+v", p)
	}
	held := func(context.Context, grid.Table) (*store.Info, error) {
		return &store.Info{Table: table, Hold: "trial"}, nil
	}
	if _, err := archive.NewAcceptor(w.Archiver).ReadTables(held).Accept(t.Context(), table, nil, p.Digest()); varve.FailureOf(err) != varve.Conflict || !strings.Contains(err.Error(), "trial") {
		t.Errorf("with a hold after the plan: %v", err)
	}
	w.checkHolds(t, p.Digest())
	if _, err := archive.NewAcceptor(w.Archiver).Accept(t.Context(), table, nil, p.Digest()); err != nil {
		t.Error(err)
	}
}

// TestAcceptance_DigestCoversPlan changes each part of a plan that operators see. Each change must
// result in another digest.
func TestAcceptance_DigestCoversPlan(t *testing.T) {
	seen := map[string]int{}
	for i, p := range []archive.Acceptance{
		{}, {Merged: "m"}, {Series: 1}, {Readings: 1}, {Erased: 1}, {Added: 1}, {Unexplained: 1}, {DaysUnknown: true}, {Rewrite: true},
		{Damaged: []archive.DamagedFile{{Name: "f"}}}, {Damaged: []archive.DamagedFile{{Name: "f", Problem: "missing"}}},
		{Others: []archive.OtherArchive{{Manifest: "m"}}}, {Others: []archive.OtherArchive{{Manifest: "m", Readings: 1}}}, {Others: []archive.OtherArchive{{Manifest: "m", Problem: "missing"}}},
		{InTable: archive.Missing{Readings: 1}}, {Lost: archive.Missing{Readings: 1}}, {Changed: archive.Missing{Readings: 1}}, {Record: archive.Record{Series: 1}},
	} {
		if earlier, found := seen[p.Digest()]; found {
			t.Errorf("plans %d and %d have the same digest", earlier, i)
		}
		seen[p.Digest()] = i
	}
}
