//go:build unix

package export_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/varvedb/varve/export"
)

// TestExport_RefusesSecondRun begins an export while another one with the same folder waits for readings. The second
// one must be refused, and the files must have each reading once.
func TestExport_RefusesSecondRun(t *testing.T) {
	from, to := newServer(t), newServer(t)
	from.write(t, 25)
	dir := t.TempDir()
	o := export.Options{Client: from.Client, Stream: "weather", Dir: dir, Format: export.NDJSON, State: filepath.Join(dir, "progress"), FileReadings: 10}
	begun := false
	from.beforeRead = func(path string) {
		if begun || !strings.HasSuffix(path, "/readings") {
			return
		}
		begun = true
		if p, err := export.Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), "another export of stream weather") {
			t.Errorf("the second run: %+v, error %v, want a refusal", p, err)
		}
	}
	if p, err := export.Run(t.Context(), o); err != nil || p.Readings != 25 || !begun {
		t.Fatalf("%+v, error %v, want 25 readings", p, err)
	}
	from.beforeRead = nil
	if p, err := export.Run(t.Context(), o); err != nil || p.Readings != 0 {
		t.Errorf("the next run: %+v, error %v, want no readings", p, err)
	}
	if left, err := filepath.Glob(filepath.Join(dir, ".*")); err != nil || len(left) > 0 {
		t.Errorf("%q remain in the folder, %v", left, err)
	}
	if err := os.Remove(o.State); err != nil {
		t.Fatal(err)
	}
	if n := to.ingest(t, dir); n != 25 || !slices.Equal(to.all(t), from.all(t)) {
		t.Errorf("%d readings were ingested, want the 25 of the server", n)
	}
}
