package engine_test

import (
	"testing"
	"time"

	"github.com/varvedb/varve"
)

// TestArchive_HasReadingsOfRecreatedTable archives and drops a table with three readings. The clock is
// set back into its month, and the router recreates the table for another reading. After the next drop,
// and after a merge, queries must return all readings.
func TestArchive_HasReadingsOfRecreatedTable(t *testing.T) {
	w := openArchiveWorld(t)
	at := w.clock
	tables := w.fillWeeks(t)
	w.run(400 * day)
	w.ArchiveTables()
	w.run(10 * day)
	now := w.clock
	if exists(t, w.Engine, tables[0]) {
		t.Fatal("the table was not dropped")
	}
	w.clock = at.Add(time.Hour)
	if got := tableOfOne(t, w.Engine, tables[0].Window().From.Add(day)); got != tables[0] {
		t.Fatalf("%s was recreated, want %s", got, tables[0])
	}
	w.clock = now.Add(day)
	w.run(day)
	w.ArchiveTables()
	w.run(10 * day)
	for range 3 {
		w.ArchiveTables()
	}
	if exists(t, w.Engine, tables[0]) {
		t.Fatalf("the recreated table was not dropped: %+v", w.Conditions.List())
	}
	for _, tb := range tables {
		if r := w.archiveOf(tb); w.Archiver.Verify(t.Context(), &r) != nil {
			t.Errorf("%+v is not whole", r)
		}
	}
	for device, want := range map[string]int{"x": 6, "y": 3, "d": 1} {
		if n, cover := w.readArchives(device, varve.Ascending); n != want {
			t.Errorf("%d readings of %s, coverage %+v, want %d", n, device, cover, want)
		}
	}
}
