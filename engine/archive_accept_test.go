package engine_test

import (
	"fmt"
	"testing"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/archive"
	"github.com/varvedb/varve/engine"
	"github.com/varvedb/varve/erasures"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/query"
	"github.com/varvedb/varve/registry"
	"github.com/varvedb/varve/store"
)

func (w *archiveWorld) archiveItems() (list []store.Item) {
	w.t.Helper()
	for _, pk := range []string{archive.RecordsPK, archive.MergedPK} {
		for it, err := range registry.All(w.t.Context(), w.Store, store.ItemQuery{PK: pk, Consistent: true}) {
			if err != nil {
				w.t.Fatal(err)
			}
			list = append(list, *it)
		}
	}
	return list
}

func (w *archiveWorld) restoreItems(earlier []store.Item) {
	w.t.Helper()
	for _, it := range w.archiveItems() {
		if err := w.Store.Delete(w.t.Context(), it.Key); err != nil {
			w.t.Fatal(err)
		}
	}
	for _, it := range earlier {
		if err := w.Store.Put(w.t.Context(), it); err != nil {
			w.t.Fatal(err)
		}
	}
}

// TestAcceptArchive_QueriesReturnRemainingReadings erases a device from the archive of a dropped table, and
// restores the earlier record. Once the archive is accepted, queries must return exactly the readings that
// are left. An acceptance must fail while another job works on archives.
func TestAcceptArchive_QueriesReturnRemainingReadings(t *testing.T) {
	w := openArchiveWorld(t)
	table := tableOfOne(t, w.Engine, w.clock)
	if _, err := w.Streams.Register(t.Context(), varve.DefaultTenant, "weather", "default", 0); err != nil {
		t.Fatal(err)
	}
	if res := w.Store.Write(t.Context(), []store.Batch{{Table: table, Readings: hourlyReadings(table, w.clock, "x", "y", "x", "y", "y")}}); res[0].Err != nil {
		t.Fatal(res[0].Err)
	}
	w.run(400 * day)
	w.ArchiveTables()
	w.run(10 * day)
	if exists(t, w.Engine, table) {
		t.Fatal("the table was not dropped")
	}
	earlier := w.archiveItems()
	w.finish("x", erasures.Done)
	w.restoreItems(earlier)
	count := func(device string) string {
		t.Helper()
		n, _, err := countRows(t, w.Engine, query.Query{Series: varve.Series{Tenant: varve.DefaultTenant, Stream: "weather", Device: device}, Window: varve.AllTime(), Archive: query.WithArchives})
		return fmt.Sprint(n, " ", varve.FailureOf(err) == varve.Damaged)
	}
	if got := count("y"); got != "0 true" {
		t.Fatalf("before the acceptance: %s", got)
	}
	acceptor := engine.ArchiveAcceptor{Engine: w.Engine}
	p, err := acceptor.Plan(t.Context(), table)
	if err != nil || p.Erased != 2 || p.Readings != 4 || p.Loses() {
		t.Fatalf("%+v, %v", p, err)
	}
	w.whileArchiving(func() {
		if _, err := acceptor.Accept(t.Context(), table, p.Digest()); varve.FailureOf(err) != varve.Unavailable {
			t.Errorf("while another job works: %v", err)
		}
	})
	for range 2 {
		r, err := acceptor.Accept(t.Context(), table, p.Digest())
		if err != nil || w.Archiver.Verify(t.Context(), &r) != nil {
			t.Fatalf("%+v, %v", r, err)
		}
	}
	for device, want := range map[string]string{"x": "0 false", "y": "3 false", "d": "1 false"} {
		if got := count(device); got != want {
			t.Errorf("device %s: %s, want %s", device, got, want)
		}
	}
}

// whileArchiving calls a function while another job holds the lease of archives.
func (w *archiveWorld) whileArchiving(do func()) {
	w.t.Helper()
	if err := w.AloneWithArchives(w.t.Context(), do); err != nil {
		w.t.Fatal(err)
	}
}

// TestAcceptArchive_ChangesNothingInTable accepts an archive that lacks a reading of its existing table.
// The table must be dropped only after another archive has the reading.
func TestAcceptArchive_ChangesNothingInTable(t *testing.T) {
	w := openArchiveWorld(t)
	table := tableOfOne(t, w.Engine, w.clock)
	w.run(400 * day)
	w.ArchiveTables()
	earlier := w.archiveItems()
	if _, err := w.Archiver.Erase(t.Context(), []grid.Table{table}, func(*varve.Reading) bool { return true }, nil); err != nil {
		t.Fatal(err)
	}
	w.restoreItems(earlier)
	acceptor := engine.ArchiveAcceptor{Engine: w.Engine}
	p, err := acceptor.Plan(t.Context(), table)
	if err != nil || p.Erased != 1 || p.InTable.Readings != 1 {
		t.Fatalf("%+v, %v", p, err)
	}
	if _, err := acceptor.Accept(t.Context(), table, p.Digest()); err != nil {
		t.Fatal(err)
	}
	w.run(10 * day)
	if !exists(t, w.Engine, table) {
		t.Fatal("the table was dropped, and its archive lacks a reading")
	}
	w.ArchiveTables()
	w.run(day)
	r, _, err := w.Archiver.Catalog().Get(t.Context(), table)
	if err != nil || exists(t, w.Engine, table) || r.Readings != 1 {
		t.Errorf("after the next archive: %+v, %v", r, err)
	}
}
