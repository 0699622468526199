package engine_test

import (
	"testing"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/engine"
	"github.com/varvedb/varve/erasures"
	"github.com/varvedb/varve/grid"
)

// TestArchive_RefusesManualWorkDuringOtherJobs archives and restores a table by hand while another job, such as an
// erasure, works on archives. Both must fail and change nothing, and succeed afterwards.
func TestArchive_RefusesManualWorkDuringOtherJobs(t *testing.T) {
	w := openArchiveWorld(t)
	table, restorer := tableOfOne(t, w.Engine, w.clock), engine.ArchiveRestorer{Engine: w.Engine}
	w.run(400 * day)
	archiveNow := func() error {
		_, err := w.ArchiveNow(t.Context(), []grid.Table{table})
		return err
	}
	w.whileArchiving(func() {
		if err := archiveNow(); varve.FailureOf(err) != varve.Unavailable || len(w.archiveItems()) != 0 {
			t.Errorf("archived during another job: %v", err)
		}
	})
	if err := archiveNow(); err != nil {
		t.Fatal(err)
	}
	w.run(10 * day)
	w.whileArchiving(func() {
		if err := restorer.Restore(t.Context(), table); varve.FailureOf(err) != varve.Unavailable || exists(t, w.Engine, table) {
			t.Errorf("restored during another job: %v", err)
		}
	})
	if err := restorer.Restore(t.Context(), table); err != nil || !exists(t, w.Engine, table) {
		t.Errorf("restored after the other job: %v", err)
	}
}

// TestArchiveRestorer_ReturnsNoErasedReadings restores a dropped table after an erasure of all its readings. No
// erased reading may return. A restore before the table has an archive must fail.
func TestArchiveRestorer_ReturnsNoErasedReadings(t *testing.T) {
	w := openArchiveWorld(t)
	table, restorer := tableOfOne(t, w.Engine, w.clock), engine.ArchiveRestorer{Engine: w.Engine}
	if err := restorer.Restore(t.Context(), table); varve.FailureOf(err) != varve.NotFound {
		t.Errorf("without an archive: %v", err)
	}
	w.run(400 * day)
	w.ArchiveTables()
	w.run(10 * day)
	w.finish("d", erasures.Done)
	if err := restorer.Restore(t.Context(), table); err != nil {
		t.Fatal(err)
	}
	p, err := w.Erasures.Plan(t.Context(), erasures.Target{Tenant: varve.DefaultTenant, Device: "d", Window: varve.AllTime()})
	if err != nil {
		t.Fatal(err)
	}
	if n, _ := p.Readings(); n != 0 {
		t.Errorf("%d erased readings were restored", n)
	}
}
