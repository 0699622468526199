package local_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/local"
)

// steadyWriter writes readings in order. After each write, it records the number of written
// readings in an item.
type steadyWriter struct {
	device string
	list   []varve.Reading
	acked  atomic.Int64 // number of readings in the last acknowledged item
}

func (w *steadyWriter) key() store.Key { return store.Key{PK: "written", SK: w.device} }

// run writes until the channel "stop" is closed, or until all readings are written.
func (w *steadyWriter) run(ctx context.Context, s *local.Store, in grid.Table, stop chan struct{}) error {
	for n := 0; n < len(w.list); {
		select {
		case <-stop:
			return nil
		default:
		}
		end := min(n+1+rand.IntN(60), len(w.list))
		result := s.Write(ctx, []store.Batch{{Table: in, Readings: w.list[n:end]}})[0]
		if result.Err != nil {
			return result.Err
		}
		n = end
		if err := s.Put(ctx, store.Item{Key: w.key(), Attrs: map[string]varve.Value{"n": varve.IntValue(int64(n))}}); err != nil {
			return err
		}
		w.acked.Store(int64(n))
	}
	return nil
}

// check checks that a restored store has at least the acknowledged readings, and that none before
// the last one is missing. The item of the writer must not record more readings than exist.
func (w *steadyWriter) check(t *testing.T, s *local.Store, in grid.Table, acked int64) {
	t.Helper()
	list := all(t, s, in, w.device)
	for i := range list {
		if !list[i].Time.Equal(w.list[i].Time) {
			t.Fatalf("%s: reading %d is of %v, want %v", w.device, i, list[i].Time, w.list[i].Time)
		}
	}
	items, err := s.Get(t.Context(), []store.Key{w.key()}, true)
	if err != nil {
		t.Fatal(err)
	}
	said := int64(0)
	if len(items) > 0 {
		said, _ = items[0].Attrs["n"].Int()
	}
	if n := int64(len(list)); said < acked || n < said {
		t.Errorf("%s: %d readings and an item that says %d, but %d were acknowledged", w.device, n, said, acked)
	}
}

// TestSnapshot_HasAllThatWasAcknowledged makes snapshots while several goroutines write, and opens copies
// of the snapshots. Each copy must have all readings that were acknowledged before its snapshot.
func TestSnapshot_HasAllThatWasAcknowledged(t *testing.T) {
	dir := t.TempDir()
	s := open(t, local.Options{Dir: dir, MemtableBytes: 64 << 10, ChunkReadings: 128, MinFree: -1})
	tb := week(t, 0)
	create(t, s, tb)
	stop := make(chan struct{})
	var running sync.WaitGroup
	writers := make([]*steadyWriter, 4)
	for i := range writers {
		w := &steadyWriter{device: device(i), list: readings(t, tb, device(i), 30_000)}
		writers[i] = w
		running.Go(func() {
			if err := w.run(context.WithoutCancel(t.Context()), s, tb, stop); err != nil {
				t.Error(err)
			}
		})
	}
	for range 6 {
		acked := make([]int64, len(writers))
		for i, w := range writers {
			acked[i] = w.acked.Load()
		}
		made, err := s.Snapshot(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		left := copyOf(t, made.Dir)
		if err := made.Remove(); err != nil {
			t.Fatal(err)
		}
		checkSnapshot(t, left, tb, writers, acked)
	}
	close(stop)
	running.Wait()
}

// checkSnapshot opens the copy of a snapshot, and checks the readings of all writers.
func checkSnapshot(t *testing.T, dir string, tb grid.Table, writers []*steadyWriter, acked []int64) {
	t.Helper()
	err := local.CheckFolder(t.Context(), dir, 0, func(p local.Problem) { t.Errorf("%+v", p) })
	if err != nil {
		t.Error(err)
	}
	events := local.Events{Recovered: func(r local.Recovery) {
		if len(r.Torn)+len(r.Notes) > 0 {
			t.Errorf("the copy has %+v", r)
		}
	}}
	restored, err := local.Open(local.Options{Dir: dir, Events: events})
	if err != nil {
		t.Fatal(err)
	}
	for i, w := range writers {
		w.check(t, restored, tb, acked[i])
	}
	if err := restored.Close(); err != nil {
		t.Error(err)
	}
}

// TestSnapshot_IsRemovedByOpen checks that a snapshot from before a crash is deleted.
func TestSnapshot_IsRemovedByOpen(t *testing.T) {
	s := open(t, local.Options{Dir: t.TempDir(), MinFree: -1})
	create(t, s, week(t, 0))
	made, err := s.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	left := copyOf(t, filepath.Dir(filepath.Dir(made.Dir)))
	again := open(t, local.Options{Dir: left, MinFree: -1})
	if _, err := os.Stat(filepath.Join(left, "snapshots")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the snapshot is still there: %v", err)
	}
	if _, err := again.Tables(t.Context(), store.Filter{Any: true}); err != nil {
		t.Error(err)
	}
}

// TestSnapshot_FailsAlone checks that a failing snapshot leaves no files, and that the store
// continues.
func TestSnapshot_FailsAlone(t *testing.T) {
	var sick atomic.Int64 // operations until a failure in the folder of snapshots; 0 means never
	fs := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if strings.Contains(op.Path, "snapshots") && op.Kind.ReadOrWrite() == errorfs.OpIsWrite && op.Kind != errorfs.OpRemoveAll && sick.Load() > 0 && sick.Add(-1) == 0 {
			return syscall.EIO
		}
		return nil
	}))
	s := open(t, local.Options{FS: fs, MinFree: -1})
	tb := week(t, 0)
	create(t, s, tb)
	list := readings(t, tb, "d", 1000)
	failed := 0
	for n := range 100 {
		write(t, s, tb, list[n*10:(n+1)*10], varve.Stored)
		sick.Store(int64(n + 1))
		made, err := s.Snapshot(t.Context())
		sick.Store(0)
		if err == nil {
			if err := made.Remove(); err != nil {
				t.Fatal(err)
			}
			continue
		}
		failed++
		if names, err := fs.List("data/snapshots"); err == nil && len(names) > 0 {
			t.Fatalf("the failed snapshot left %v", names)
		}
	}
	if failed < 10 {
		t.Errorf("%d snapshots failed, want at least 10", failed)
	}
	if got := len(all(t, s, tb, "d")); got != len(list) {
		t.Errorf("%d readings, want %d", got, len(list))
	}
}
