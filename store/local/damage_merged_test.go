package local_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/local"
)

// TestDamage_MergedChunksComeBack checks a store in which Pebble has lost the deletions of merged chunks.
// Reads must be refused until the loss is accepted, and then return each reading once.
func TestDamage_MergedChunksComeBack(t *testing.T) {
	t.Parallel()
	s := open(t, small(local.Options{Dir: t.TempDir(), MemtableBytes: 128 << 10}))
	create(t, s, week(t, 0))
	list := noisy(t, s, "d", 7500)
	eventually(t, "chunks of level 1", func() bool {
		n, err := s.RestoreMerged(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return n > 0
	})
	if _, err := readAll(t, s, week(t, 0), "d"); !errors.Is(err, store.ErrDamaged) {
		t.Errorf("before the loss is accepted: %v", err)
	}
	if _, err := s.AcceptLosses(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := all(t, s, week(t, 0), "d")
	if len(got) != len(list) {
		t.Fatalf("%d readings, want %d", len(got), len(list))
	}
	for i := range got {
		if !got[i].Time.Equal(list[i].Time) {
			t.Fatalf("reading %d is of %v, want %v", i, got[i].Time, list[i].Time)
		}
	}
}

// TestDamage_MergedChunkBeforeWindow reads narrow windows of a store in which merged chunks have reappeared, just
// before their successors. A read must be refused, or return each reading once, even if its window begins in
// the successor and so needs no other chunk.
func TestDamage_MergedChunkBeforeWindow(t *testing.T) {
	t.Parallel()
	s := open(t, small(local.Options{Dir: t.TempDir(), ChunkReadings: 64, MemtableBytes: 16 << 10}))
	create(t, s, week(t, 0))
	list := noisy(t, s, "d", 1500)
	eventually(t, "chunks of level 1", func() bool {
		n, err := s.RestoreMerged(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return n > 0
	})
	served := 0
	for i := range len(list) - 8 {
		window := varve.Window{From: list[i].Time, To: list[i+8].Time}
		for _, order := range []varve.Order{varve.Ascending, varve.Descending} {
			page, err := readBoth(t.Context(), s, store.Range{Table: week(t, 0), Series: list[i].Series, Window: window, Order: order}, nil)
			if errors.Is(err, store.ErrDamaged) {
				continue
			}
			if err != nil || len(page.Readings) != 8 {
				t.Fatalf("from reading %d, order %v: %d readings, %v", i, order, len(page.Readings), err)
			}
			served++
		}
	}
	if served < len(list)/2 {
		t.Errorf("%d reads were served", served)
	}
}

// TestDamage_RebuildWithOldFiles rebuilds a store without its list of files, so that merged files
// are found, too. Each reading must be returned once, and the second table must stay on hold. The store
// must report that items may be out of date.
func TestDamage_RebuildWithOldFiles(t *testing.T) {
	t.Parallel()
	const devices, n = 3, 2500
	dir := filled(t, devices, n)
	old := t.TempDir()
	if err := os.CopyFS(old, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	s := open(t, small(local.Options{Dir: dir, MemtableBytes: 128 << 10, MaxLevel0: 1}))
	for i := range devices {
		list := readings(t, week(t, 0), device(i), n)
		for j := range list { // readings between existing ones, so that chunks are merged
			list[j].Time, list[j].ID = list[j].Time.Add(time.Second/2), varve.ID{}
			if v := list[j].Normalize(); v.Outcome == varve.Rejected {
				t.Fatal(v)
			}
		}
		write(t, s, week(t, 0), list, varve.Stored)
		if err := s.Put(t.Context(), item(i, 2)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil { // flushes the memtable
		t.Fatal(err)
	}
	s = open(t, small(local.Options{Dir: dir}))
	if err := errors.Join(s.Compact(t.Context()), s.Close()); err != nil {
		t.Fatal(err)
	}
	restoreOldFiles(t, dir, old)
	var r reports
	s = open(t, small(local.Options{Dir: dir, Events: r.events(t)}))
	for i := range devices {
		got := all(t, s, week(t, 0), device(i))
		checkAscending(t, device(i), got)
		if len(got) != 2*n {
			t.Errorf("%s: %d readings, want %d", device(i), len(got), 2*n)
		}
	}
	holds(t, s)
	losses := s.Losses()
	if len(losses) != 1 || !losses[0].Rebuilt || !losses[0].Items {
		t.Errorf("losses are %+v", losses)
	}
	kept, err := filepath.Glob(filepath.Join(dir, "damaged", "pebble-*"))
	if err != nil || len(kept) != 1 {
		t.Errorf("what was there before is not kept: %v, %v", kept, err)
	}
	if _, err := s.AcceptLosses(t.Context()); err != nil || len(s.Losses()) > 0 {
		t.Errorf("accept: %v, %+v", err, s.Losses())
	}
}

// TestDamage_RebuildWithOldChunkOfOneTime rebuilds a store in which a chunk of one event time reappears beside
// the merged chunk that begins at the same time. Each reading must be returned once.
func TestDamage_RebuildWithOldChunkOfOneTime(t *testing.T) {
	dir, old := t.TempDir(), t.TempDir()
	opts := local.Options{Dir: dir, MinFree: -1, ChunkReadings: 4, MaxLevel0: 1}
	tb := week(t, 0)
	list := readings(t, tb, "d", 2)
	list[1].Time, list[1].ID = list[0].Time, varve.ID{}
	if v := list[1].Normalize(); v.Outcome == varve.Rejected {
		t.Fatal(v)
	}
	for i := range list {
		s := open(t, opts)
		if i == 0 {
			create(t, s, tb)
		}
		write(t, s, tb, list[i:i+1], varve.Stored)
		if err := s.Close(); err != nil { // flushes the reading, and merges its chunk
			t.Fatal(err)
		}
		if i == 0 {
			if err := os.CopyFS(old, os.DirFS(dir)); err != nil {
				t.Fatal(err)
			}
		}
	}
	s := open(t, opts)
	if err := errors.Join(s.Compact(t.Context()), s.Close()); err != nil {
		t.Fatal(err)
	}
	restoreOldFiles(t, dir, old)
	var r reports
	opts.Events = r.events(t)
	if got := all(t, open(t, opts), tb, "d"); len(got) != 2 {
		t.Errorf("two readings are returned as %d", len(got))
	}
}

// restoreOldFiles copies Pebble files from an older copy of a folder, if the folder lacks them. It
// also removes the marker of the MANIFEST.
func restoreOldFiles(t *testing.T, dir, old string) {
	t.Helper()
	for _, path := range ssts(t, old) {
		to := filepath.Join(dir, "pebble", filepath.Base(path))
		if _, err := os.Stat(to); err == nil {
			continue
		}
		data, err := os.ReadFile(path)
		if err == nil {
			err = os.WriteFile(to, data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	markers, err := filepath.Glob(filepath.Join(dir, "pebble", "marker.manifest*"))
	if err != nil || len(markers) == 0 {
		t.Fatal(err)
	}
	for _, m := range markers {
		if err := os.Remove(m); err != nil {
			t.Fatal(err)
		}
	}
}

func checkAscending(t *testing.T, device string, list []varve.Reading) {
	t.Helper()
	for j := 1; j < len(list); j++ {
		if !list[j].Time.After(list[j-1].Time) {
			t.Fatalf("%s: reading %d of %v comes after one of %v", device, j, list[j].Time, list[j-1].Time)
		}
	}
}

// TestAcceptLosses_DemotesCopyOfOneTime makes a merged chunk with one reading reappear beside its successor.
// After the losses are accepted, the reading must be returned once.
func TestAcceptLosses_DemotesCopyOfOneTime(t *testing.T) {
	opts := local.Options{Dir: t.TempDir(), MinFree: -1, ChunkReadings: 4}
	s := open(t, opts)
	create(t, s, week(t, 0))
	list := readings(t, week(t, 0), "d", 1)
	write(t, s, week(t, 0), list, varve.Stored)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, opts)
	if n, err := s.RestoreMerged(t.Context()); n != 1 || err != nil {
		t.Fatalf("%d chunks of level 1, want 1: %v", n, err)
	}
	if _, err := s.AcceptLosses(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := all(t, s, week(t, 0), "d"); len(got) != 1 {
		t.Errorf("one reading is returned %d times", len(got))
	}
}
