package local_test

import (
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store/local"
)

// TestWrite_FindsRepeatsOfOneTime resends readings of one event time that fill many chunks. All
// must be duplicates.
func TestWrite_FindsRepeatsOfOneTime(t *testing.T) {
	const n = 20_000
	tb := week(t, 0)
	list := readings(t, tb, "d", n)
	for i := range list {
		list[i].Time, list[i].ID = tb.Window().From, varve.ID{}
		if v := list[i].Normalize(); v.Outcome == varve.Rejected {
			t.Fatal(v)
		}
	}
	s := open(t, local.Options{FS: vfs.NewMem(), MemtableBytes: 256 << 10, ChunkReadings: 100})
	create(t, s, tb)
	for from := 0; from < n; from += 1000 {
		write(t, s, tb, list[from:from+1000], varve.Stored)
	}
	for from := 0; from < n; from += 1000 {
		write(t, s, tb, list[from:from+1000], varve.Duplicate)
	}
	if got := all(t, s, tb, "d"); len(got) != n {
		t.Errorf("%d readings, want %d", len(got), n)
	}
}
