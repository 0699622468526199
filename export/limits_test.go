package export_test

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/varvedb/varve/export"
)

// TestExport_DividesLongPages uses such small bounds of the memory that pages and collected readings exceed
// them. The files must have each reading once, in the first copy and in the changes after it.
func TestExport_DividesLongPages(t *testing.T) {
	defer export.SetBounds(1000, 3000)()
	for _, format := range []export.Format{export.NDJSON, export.CSV, export.Parquet} {
		from, to := newServer(t), newServer(t)
		dir := t.TempDir()
		o := export.Options{Client: from.Client, Stream: "weather", Dir: dir, Format: format, State: filepath.Join(dir, "progress")}
		for run := range 2 {
			from.write(t, 60)
			p, err := export.Run(t.Context(), o)
			if err != nil || p.Readings != 60 {
				t.Fatalf("%s, run %d: %+v, %v: want 60 readings", format, run, p, err)
			}
			if collects := format == export.CSV || format == export.Parquet && run == 1; collects && p.Files < 2 {
				t.Errorf("%s, run %d: %d files, want several", format, run, p.Files)
			}
		}
		if stored := to.ingest(t, dir); stored != 120 {
			t.Errorf("%s: %d readings were stored, want 120", format, stored)
		}
		if got, want := to.all(t), from.all(t); len(want) != 120 || !slices.Equal(got, want) {
			t.Errorf("%s: the servers differ: %d and %d readings", format, len(got), len(want))
		}
	}
}
