package engine_test

import (
	"slices"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/archive"
	"github.com/varvedb/varve/erasures"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/health"
	"github.com/varvedb/varve/objectstore"
	"github.com/varvedb/varve/query"
	"github.com/varvedb/varve/store"
)

// openMergedWorld returns an engine with the archives of three dropped tables of one arrival month. Each
// table has three readings, an hour apart. The first and the last are of device x, and the second is of
// device y. The archives are merged.
func openMergedWorld(t *testing.T) (w *archiveWorld, tables []grid.Table) {
	t.Helper()
	w = openArchiveWorld(t)
	tables = w.fillWeeks(t)
	w.run(400 * day)
	w.ArchiveTables()
	w.run(10 * day)
	for range 2 { // the second run deletes the replaced files
		w.ArchiveTables()
	}
	for _, tb := range tables {
		if r := w.archiveOf(tb); r.Merged == "" || r.Single || r.Merged != w.archiveOf(tables[0]).Merged {
			t.Fatalf("%+v is not merged", r)
		}
	}
	if n := w.ArchiveStats().Merged; n < 3 || w.Conditions.Holds(health.ArchiveFailing) {
		t.Fatalf("%d tables were merged, conditions %+v", n, w.Conditions.List())
	}
	return w, tables
}

// fillWeeks writes readings of three weeks that arrive now, and returns their tables.
func (w *archiveWorld) fillWeeks(t *testing.T) (tables []grid.Table) {
	t.Helper()
	if _, err := w.Streams.Register(t.Context(), varve.DefaultTenant, "weather", "default", 0); err != nil {
		t.Fatal(err)
	}
	month := grid.MonthOf(w.clock)
	for i := range 3 {
		r, ok := grid.DefaultPolicy().Locate(month.Start().AddDate(0, 0, 2-7*i), month)
		if !ok {
			t.Fatal("no table")
		}
		tb := grid.Table{Prefix: "varve", Range: r, Month: month}
		tables = append(tables, tb)
		if err := w.Store.Create(t.Context(), tb, store.Hot); err != nil {
			t.Fatal(err)
		}
		batch := []store.Batch{{Table: tb, Readings: hourlyReadings(tb, w.clock, "x", "y", "x")}}
		if res := w.Store.Write(t.Context(), batch); res[0].Err != nil || res[0].Verdicts[2].Outcome != varve.Stored {
			t.Fatalf("%+v", res)
		}
	}
	return tables
}

func (w *archiveWorld) archiveOf(tb grid.Table) archive.Record {
	w.t.Helper()
	r, found, err := w.Archiver.Catalog().Get(w.t.Context(), tb)
	if err != nil || !found {
		w.t.Fatal(tb, found, err)
	}
	return r
}

// readArchives returns the number of readings of a device in tables and archives, and the coverage of the
// answer.
func (w *archiveWorld) readArchives(device string, order varve.Order) (n int, c query.Coverage) {
	w.t.Helper()
	rows, err := w.Query.Open(w.t.Context(), archiveQuery(device, order))
	if err != nil {
		w.t.Fatal(err)
	}
	defer rows.Close()
	for {
		part, err := rows.NextPart(w.t.Context())
		if err != nil {
			w.t.Fatal(err)
		}
		if part.IsEnd() {
			return n, rows.Coverage()
		}
		n += part.Len()
	}
}

func archiveQuery(device string, order varve.Order) query.Query {
	return query.Query{
		Series: varve.Series{Tenant: varve.DefaultTenant, Stream: "weather", Device: device}, Window: varve.AllTime(),
		Archive: query.WithArchives, Order: order,
	}
}

// TestArchive_ReadsMergedArchiveOnce checks that a query of three tables needs two requests to read their
// merged archive: one for the manifest, and one for the readings. The coverage names each table.
func TestArchive_ReadsMergedArchiveOnce(t *testing.T) {
	w, tables := openMergedWorld(t)
	x, err := w.Query.Explain(t.Context(), archiveQuery("x", varve.Ascending))
	if err != nil || x.Cost.Requests != 2 || len(x.Tables) != 3 {
		t.Errorf("explanation: %+v, %v, want 2 requests for 3 tables", x, err)
	}
	for _, order := range []varve.Order{varve.Ascending, varve.Descending} {
		before := w.Archives.Stats().Requests
		n, cover := w.readArchives("x", order)
		if n != 6 || len(cover.Archived) != len(tables) {
			t.Errorf("%v: %d readings, coverage %+v, want 6 of %v", order, n, cover, tables)
		}
		if requests := w.Archives.Stats().Requests - before; requests != 1 { // not 2, because Explain has read the manifest
			t.Errorf("%v: %d requests, want 1", order, requests)
		}
	}
}

// TestErasure_RewritesMergedArchive erases a device while one table of a merged archive is on hold.
// The other tables must lose the readings of the device, but not the table on hold. After the
// release, no object may have a reading of the device.
func TestErasure_RewritesMergedArchive(t *testing.T) {
	w, tables := openMergedWorld(t)
	w.holdArchive(tables[1], "case 7")
	if r := w.finish("x", erasures.Held); len(r.Erased) != 2 || r.Erased[0].Readings != 2 || len(r.Holds) != 1 {
		t.Errorf("with a hold: %+v", r)
	}
	if n, _ := w.readArchives("x", varve.Ascending); n != 2 {
		t.Errorf("%d readings of x are left, want 2 of the table on hold", n)
	}
	w.holdArchive(tables[1], "")
	if r := w.finish("x", erasures.Done); len(r.Erased) != 1 || r.Erased[0].Readings != 2 {
		t.Errorf("after the release: %+v", r)
	}
	for _, device := range []string{"x", "y"} {
		if n, _ := w.readArchives(device, varve.Ascending); n != map[string]int{"x": 0, "y": 3}[device] {
			t.Errorf("%d readings of %s are left", n, device)
		}
	}
	for _, tb := range tables {
		r := w.archiveOf(tb)
		if err := w.Archiver.Verify(t.Context(), &r); err != nil || r.Readings != 1 {
			t.Errorf("%+v: %v", r, err)
		}
	}
	if n := w.mergedObjects(tables[0].Month); n != 3 {
		t.Errorf("%d objects of merged archives, want a part, digests and a manifest", n)
	}
}

// mergedObjects counts the objects of the merged archives of an arrival month.
func (w *archiveWorld) mergedObjects(month grid.Month) (n int) {
	w.t.Helper()
	list, err := w.Archiver.Catalog().ListMerged(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	for i := range list {
		if list[i].Tables[0].Month != month {
			continue
		}
		err = w.objects.List(w.t.Context(), list[i].Dir, func(objectstore.Object) error { n++; return nil })
		if err != nil {
			w.t.Fatal(err)
		}
	}
	return n
}

// TestArchive_DeletesMergedArchiveLast lets the archives of all tables of a merged archive expire, except one
// on hold. The readings of the table on hold must stay until the hold is released.
func TestArchive_DeletesMergedArchiveLast(t *testing.T) {
	w, tables := openMergedWorld(t)
	w.holdArchive(tables[2], "case 7")
	dir := w.archiveOf(tables[2]).Merged
	w.clock = w.clock.Add(40 * day)
	w.ArchiveTables()
	r := w.archiveOf(tables[2])
	if err := w.Archiver.Verify(t.Context(), &r); err != nil {
		t.Errorf("the archive on hold: %v", err)
	}
	if n, cover := w.readArchives("x", varve.Ascending); n != 2 || !slices.Equal(cover.Archived, []string{tables[2].Name()}) {
		t.Errorf("%d readings, coverage %+v, want 2 of the table on hold", n, cover)
	}
	w.holdArchive(tables[2], "")
	w.clock = w.clock.Add(time.Hour)
	w.ArchiveTables()
	files := 0
	if err := w.objects.List(t.Context(), dir, func(objectstore.Object) error { files++; return nil }); err != nil {
		t.Fatal(err)
	}
	if n := w.mergedObjects(tables[0].Month); n != 0 || files != 0 {
		t.Errorf("after the retention: %d objects of merged archives, %d files", n, files)
	}
}

// TestArchive_RestoresTableOfMergedArchive restores one table, which is then archived on its own, dropped once
// more and merged. Queries must return each reading once, after the restore and after the merge.
func TestArchive_RestoresTableOfMergedArchive(t *testing.T) {
	w, tables := openMergedWorld(t)
	ctx, tb := t.Context(), tables[1]
	r := w.archiveOf(tb)
	if err := w.Archiver.Restore(ctx, &r, w.Store); err != nil {
		t.Fatal(err)
	}
	if n, cover := w.readArchives("x", varve.Ascending); n != 6 || len(cover.Archived) != 2 || len(cover.Read) != 1 {
		t.Errorf("%d readings, coverage %+v", n, cover)
	}
	if err := w.Store.Hold(ctx, tb, ""); err != nil {
		t.Fatal(err)
	}
	w.run(time.Hour)
	w.ArchiveTables()
	if r := w.archiveOf(tb); r.Merged != "" || r.Readings != 3 || r.Generation != 2 {
		t.Errorf("after the second retirement: %+v", r)
	}
	w.run(10 * day)
	if exists(t, w.Engine, tb) {
		t.Fatal("the table was not dropped")
	}
	w.ArchiveTables()
	w.ArchiveTables()
	if r := w.archiveOf(tb); r.Merged == "" || r.Single {
		t.Errorf("after the second drop: %+v", r)
	}
	if n, cover := w.readArchives("x", varve.Ascending); n != 6 || len(cover.Archived) != 3 {
		t.Errorf("%d readings, coverage %+v", n, cover)
	}
}
