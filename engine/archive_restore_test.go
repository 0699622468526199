package engine_test

import (
	"errors"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/archive"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/query"
	"github.com/varvedb/varve/store"
)

// TestArchive_IsNotReplacedDuringRestore interrupts a restore before its first reading. Neither the
// job nor an operator may replace the archive with an archive of the table, because the table lacks
// readings. A repeated restore must return all readings to the table.
func TestArchive_IsNotReplacedDuringRestore(t *testing.T) {
	w := openArchiveWorld(t)
	ctx := t.Context()
	table := tableOfOne(t, w.Engine, w.clock)
	w.run(400 * day)
	w.ArchiveTables()
	w.run(10 * day)
	if exists(t, w.Engine, table) {
		t.Fatal("the table was not dropped")
	}
	if err := errors.Join(w.Store.Create(ctx, table, store.Cold), w.Store.Hold(ctx, table, archive.RestoredHold)); err != nil {
		t.Fatal(err)
	}
	w.clock = w.clock.Add(time.Hour)
	w.ArchiveTables()
	if _, err := w.ArchiveNow(ctx, []grid.Table{table}); varve.FailureOf(err) != varve.Conflict {
		t.Errorf("archived by hand: %v", err)
	}
	r, _, err := w.Archiver.Catalog().Get(ctx, table)
	if err != nil || r.Readings != 1 || r.Generation != 1 {
		t.Fatalf("the archive was replaced: %+v, %v", r, err)
	}
	if err := w.Archiver.Restore(ctx, &r, w.Store); err != nil {
		t.Fatal(err)
	}
}

// TestArchive_OnHoldOutlivesItsRetention checks that the archive of a dropped table outlives its
// retention while the archive is on hold. Once the hold is released, the archive must be deleted.
func TestArchive_OnHoldOutlivesItsRetention(t *testing.T) {
	w := openArchiveWorld(t)
	ctx := t.Context()
	table := tableOfOne(t, w.Engine, w.clock)
	w.run(400 * day)
	w.ArchiveTables()
	w.run(10 * day)
	catalog := w.Archiver.Catalog()
	if _, err := catalog.Hold(ctx, table, "case 7"); err != nil {
		t.Fatal(err)
	}
	w.clock = w.clock.Add(31 * day)
	w.ArchiveTables()
	r, found, err := catalog.Get(ctx, table)
	if err != nil || !found || r.Hold != "case 7" || w.Archiver.Verify(ctx, &r) != nil {
		t.Fatalf("on hold after its retention: %+v, %t, %v", r, found, err)
	}
	if _, err := catalog.Hold(ctx, table, ""); err != nil {
		t.Fatal(err)
	}
	w.ArchiveTables()
	if _, found, err := catalog.Get(ctx, table); found || err != nil {
		t.Errorf("after its release: found %t, %v, conditions %+v", found, err, w.Conditions.List())
	}
	if _, err := catalog.Hold(ctx, table, "late"); varve.FailureOf(err) != varve.NotFound {
		t.Errorf("hold of a deleted archive: %v", err)
	}
}

// TestQuery_ReadsReadingOfRestoredTableOnce checks that a query with archives returns a reading once,
// before, during and after the restore of its table.
func TestQuery_ReadsReadingOfRestoredTableOnce(t *testing.T) {
	w := openArchiveWorld(t)
	table := tableOfOne(t, w.Engine, w.clock)
	w.run(400 * day)
	w.ArchiveTables()
	w.run(10 * day)
	q := query.Query{Series: varve.Series{Tenant: varve.DefaultTenant, Stream: "weather", Device: "d"}, Window: varve.AllTime(), Archive: query.WithArchives}
	check := func(when string) {
		if n, cover, err := countRows(t, w.Engine, q); n != 1 || err != nil {
			t.Errorf("%s: %d readings, coverage %+v, %v", when, n, cover, err)
		}
	}
	check("dropped")
	if err := errors.Join(w.Store.Create(t.Context(), table, store.Cold), w.Store.Hold(t.Context(), table, archive.RestoredHold)); err != nil {
		t.Fatal(err)
	}
	check("restore begun")
	r, _, err := w.Archiver.Catalog().Get(t.Context(), table)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Archiver.Restore(t.Context(), &r, w.Store); err != nil {
		t.Fatal(err)
	}
	check("restored")
}
