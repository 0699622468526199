package local_test

import (
	"strings"
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

// TestFlush_BacksOff checks that a failing flush is retried at most once a second, independent of
// the number of writes. When the disk works again, writes must succeed.
func TestFlush_BacksOff(t *testing.T) {
	var sick atomic.Bool
	var failures atomic.Int64
	disk := errorfs.Wrap(vfs.NewMem(), errorfs.InjectorFunc(func(op errorfs.Op) error {
		if sick.Load() && op.Kind == errorfs.OpCreate && strings.Contains(op.Path, "journal") {
			return syscall.EIO
		}
		return nil
	}))
	s, err := local.Open(local.Options{Dir: "data", FS: disk, MemtableBytes: 16 << 10, Events: local.Events{Failed: func(string, error) { failures.Add(1) }}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	tb := week(t, 0)
	create(t, s, tb)
	n := 0
	send := func() error {
		n++
		return s.Write(t.Context(), []store.Batch{{Table: tb, Readings: readings(t, tb, device(n), 50)}})[0].Err
	}
	sick.Store(true)
	begin := time.Now()
	eventually(t, "writes are refused", func() bool { return varve.FailureOf(send()) == varve.Unavailable })
	for range 200 {
		_ = send() // refused; without the delay, each of these writes would cause a flush
	}
	most := int64(2 + time.Since(begin)/time.Second)
	if got := failures.Load(); got == 0 || got > most {
		t.Errorf("%d flushes failed, want 1 to %d", got, most)
	}
	sick.Store(false)
	eventually(t, "writes go on", func() bool { return send() == nil })
}
