package local_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/local"
)

// TestWrite_FailsWhenFlushFails lets a writer without a deadline wait for room in memory, and then makes
// the flush fail. The writer must fail, too.
func TestWrite_FailsWhenFlushFails(t *testing.T) {
	const limit = 16 << 10
	var broken atomic.Bool
	gate := make(chan struct{})
	disk := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if broken.Load() && op.Kind == errorfs.OpCreate && strings.Contains(op.Path, "journal") {
			<-gate
			return syscall.EIO
		}
		return nil
	}))
	s := open(t, local.Options{Dir: "data", FS: disk, MinFree: -1, MemtableBytes: limit, Events: local.Events{Failed: func(string, error) {}}})
	tb := week(t, 0)
	create(t, s, tb)
	broken.Store(true)
	failed := make(chan error, 1)
	go func() {
		for n := 0; ; n++ {
			if err := s.Write(context.Background(), []store.Batch{{Table: tb, Readings: readings(t, tb, device(n), 50)}})[0].Err; err != nil {
				failed <- err
				return
			}
		}
	}()
	eventually(t, "the memtable is full", func() bool { return s.WaitsForRoom() })
	close(gate)
	select {
	case err := <-failed:
		if varve.FailureOf(err) != varve.Unavailable {
			t.Errorf("the write failed with %v, want unavailable", err)
		}
	case <-time.After(20 * time.Second):
		t.Error("the writer still waits after a failed flush")
	}
	broken.Store(false)
}

// TestWrite_ReportsRecreatedTable drops and recreates a table while a write reads its chunks. The write
// must fail, although a table of the same name exists afterward.
func TestWrite_ReportsRecreatedTable(t *testing.T) {
	tb := week(t, 0)
	var hook atomic.Pointer[func()]
	var once sync.Once
	disk := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if f := hook.Load(); f != nil && op.Kind.ReadOrWrite() == errorfs.OpIsRead && strings.HasSuffix(op.Path, ".sst") {
			once.Do(*f)
		}
		return nil
	}))
	opts := local.Options{Dir: "data", FS: disk, MinFree: -1, CacheBytes: 1}
	s := open(t, opts)
	create(t, s, tb)
	list := noisy(t, nil, "d", 2000)
	write(t, s, tb, list[:1000], varve.Stored)
	if err := s.Close(); err != nil { // flushes the readings
		t.Fatal(err)
	}
	s = open(t, opts)
	var errs [3]error
	recreate := func() {
		done := make(chan struct{})
		go func() {
			defer close(done)
			errs = [3]error{s.Retire(context.Background(), tb, arrived), s.Drop(context.Background(), tb), s.Create(context.Background(), tb, store.Hot)}
		}()
		<-done
	}
	hook.Store(&recreate)
	got := s.Write(t.Context(), []store.Batch{{Table: tb, Readings: list[500:510]}})[0]
	if errs != [3]error{} {
		t.Fatalf("retire, drop and create: %v", errs)
	}
	if !errors.Is(got.Err, store.ErrNoTable) {
		t.Errorf("verdicts %v and error %v, want the error of a missing table", got.Verdicts, got.Err)
	}
	if n := len(all(t, s, tb, "d")); n != 0 {
		t.Errorf("the new table has %d readings", n)
	}
}

func TestRead_AcceptsLargestLimit(t *testing.T) {
	s := open(t, local.Options{Dir: "data", FS: vfs.NewMem(), MinFree: -1})
	tb := week(t, 0)
	create(t, s, tb)
	list := readings(t, tb, "d", 10)
	write(t, s, tb, list, varve.Stored)
	for _, order := range []varve.Order{varve.Ascending, varve.Descending} {
		r := store.Range{Table: tb, Series: list[0].Series, Window: varve.Window{From: list[3].Time, To: tb.Window().To}, Limit: math.MaxInt, Order: order}
		if p, err := s.Read(t.Context(), r, nil); len(p.Readings) != 7 || err != nil {
			t.Errorf("%v: %d readings, want 7: %v", order, len(p.Readings), err)
		}
	}
}

// TestClose_EndsWhileSyncsFail closes a store whose journal can create files but not sync frames. Close must
// end and report the failure. After the next start, the acknowledged readings must exist.
func TestClose_EndsWhileSyncsFail(t *testing.T) {
	var broken atomic.Bool
	disk := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if broken.Load() && op.Kind == errorfs.OpFileSyncData && strings.Contains(op.Path, "journal") {
			return syscall.EIO
		}
		return nil
	}))
	opts := local.Options{Dir: "data", FS: disk, MinFree: -1}
	s, err := local.Open(opts)
	if err != nil {
		t.Fatal(err)
	}
	tb := week(t, 0)
	create(t, s, tb)
	list := readings(t, tb, "d", 20)
	write(t, s, tb, list[:10], varve.Stored)
	broken.Store(true)
	result := s.Write(context.Background(), []store.Batch{{Table: tb, Readings: list[10:]}})[0]
	if varve.FailureOf(result.Err) != varve.Unavailable {
		t.Errorf("the write failed with %v, want unavailable", result.Err)
	}
	closed := make(chan error, 1)
	go func() { closed <- s.Close() }()
	select {
	case err := <-closed:
		if !errors.Is(err, syscall.EIO) {
			t.Errorf("Close returned %v, want the error of the disk", err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("Close still waits after failed syncs")
	}
	broken.Store(false)
	s = open(t, opts)
	if got := all(t, s, tb, "d"); len(got) < 10 {
		t.Errorf("%d readings after a restart, want at least the 10 acknowledged ones", len(got))
	}
}
