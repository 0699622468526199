package local_test

import (
	"context"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/local"
)

// TestOpen_RecoversFromTwoTornWrites kills a store several times, and leaves a partial write at the
// end of its journal each time. The store must open each time, and have all acknowledged data.
func TestOpen_RecoversFromTwoTornWrites(t *testing.T) {
	dir := t.TempDir()
	tb := week(t, 0)
	const lives = 4
	for life := range lives {
		s, err := local.Open(local.Options{Dir: dir})
		if err != nil {
			t.Fatalf("after %d crashes: %v", life, err)
		}
		create(t, s, tb)
		write(t, s, tb, readings(t, tb, device(life), 10), varve.Stored)
		left := copyOf(t, dir) // the state after a kill
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		tear(t, left)
		dir = left
	}
	s := open(t, local.Options{Dir: dir})
	for life := range lives {
		if n := len(all(t, s, tb, device(life))); n != 10 {
			t.Errorf("%d readings of life %d are left, want 10", n, life)
		}
	}
}

// tear appends the beginning of a frame to the journal.
func tear(t *testing.T, dir string) {
	t.Helper()
	edit(t, only(t, filepath.Join(dir, "journal", "*.journal")), func(data []byte) []byte {
		copy(data[used(data):], "\x00\x00\x00\x40\x00\x00\x00\x00torn")
		return data
	})
}

// TestWrite_ReportsOnlyDurableDuplicates checks that no reading is reported as a duplicate of a
// reading that is not durable yet. This includes a reading that is already in a chunk.
func TestWrite_ReportsOnlyDurableDuplicates(t *testing.T) {
	mem := vfs.NewCrashableMem()
	var slow atomic.Bool
	gate := make(chan struct{})
	fs := errorfs.Wrap(mem, errorfs.InjectorFunc(func(op errorfs.Op) error {
		isSync := op.Kind == errorfs.OpFileSync || op.Kind == errorfs.OpFileSyncData || op.Kind == errorfs.OpFileSyncTo || op.Kind == errorfs.OpFileFlush
		if slow.Load() && isSync && (strings.HasSuffix(op.Path, ".log") || strings.HasSuffix(op.Path, "2.journal")) {
			<-gate
		}
		return nil
	}))
	var flushed atomic.Int64
	s, err := local.Open(local.Options{
		Dir: "data", FS: fs, MemtableBytes: 4096, MinFree: -1,
		Events: local.Events{Flushed: func(int64, int64, time.Duration) { flushed.Add(1) }},
	})
	if err != nil {
		t.Fatal(err)
	}
	tb := week(t, 0)
	create(t, s, tb)
	list := readings(t, tb, "d", 400)
	write(t, s, tb, list[200:], varve.Stored)
	eventually(t, "the readings become chunks", func() bool { return flushed.Load() > 0 })
	slow.Store(true)
	first := make(chan struct{})
	go func() {
		defer close(first)
		s.Write(context.Background(), []store.Batch{{Table: tb, Readings: list[:150]}}) // waits at the gate
	}()
	eventually(t, "the first are in memory or in a chunk", func() bool { return len(all(t, s, tb, "d")) > 200 })
	var answer store.Result
	for range 40 { // the chunk may appear with a delay
		ctx, cancel := context.WithTimeout(t.Context(), 25*time.Millisecond)
		answer = s.Write(ctx, []store.Batch{{Table: tb, Readings: list[:1]}})[0]
		cancel()
		if answer.Err == nil {
			break
		}
	}
	left := mem.CrashClone(vfs.CrashCloneCfg{})
	again := open(t, local.Options{Dir: "data", FS: left, MinFree: -1})
	if n := len(all(t, again, tb, "d")); answer.Err == nil && n < 201 {
		t.Errorf("answered %v, and after a power cut %d readings are left", answer.Verdicts, n)
	}
	slow.Store(false)
	close(gate)
	<-first
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
