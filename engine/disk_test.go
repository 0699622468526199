package engine_test

import (
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/engine"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/health"
	"github.com/varvedb/varve/rotator"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/local"
)

// diskFS is a file system that reports a given amount of free space.
type diskFS struct {
	vfs.FS
	free atomic.Uint64
}

func (d *diskFS) GetDiskUsage(string) (vfs.DiskUsage, error) {
	return vfs.DiskUsage{AvailBytes: d.free.Load(), TotalBytes: 1 << 40}, nil
}

// TestRotation_MakesRoomOnLowDisk checks an engine with less than half of the minimum free space. The
// engine must open, recount the due roll-ups, and drop retired tables.
func TestRotation_MakesRoomOnLowDisk(t *testing.T) {
	disk := &diskFS{FS: vfs.NewMem()}
	disk.free.Store(1 << 30)
	now := time.Date(2026, 1, 15, 12, 0, 0, 0, time.UTC)
	openAt := func() *engine.Engine {
		conditions := health.New(health.Options{})
		s, err := local.Open(local.Options{Dir: "data", FS: disk, MinFree: 64 << 20, Now: func() time.Time { return now }, Conditions: conditions})
		if err != nil {
			t.Fatal(err)
		}
		return open(t, engine.Options{
			Store: s, Now: func() time.Time { return now }, Conditions: conditions, Rotation: rotation(func(p *rotator.Policy) {
				p.Drop, p.Grace, p.Retention.Classes[0].Retention = true, time.Hour, 24*time.Hour
			}),
		})
	}
	e := openAt()
	if v := writeOne(t, e, now); v.Outcome != varve.Stored {
		t.Fatal(v)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	disk.free.Store(1 << 20)
	january := grid.MonthOf(now)
	for range 3 {
		now = now.AddDate(0, 1, 0)
		e = openAt()
		if v := writeOne(t, e, now); v.Code != varve.CodeUnavailable {
			t.Errorf("a reading on a low disk: %s", v)
		}
		if _, err := e.Rotator.Run(t.Context()); err != nil {
			t.Error(err)
		}
		if held := e.Conditions.List(); len(held) != 1 || held[0].Name != health.DiskLow {
			t.Errorf("conditions %+v", held)
		}
		if now.Month() == time.April {
			break
		}
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
	}
	tables, err := e.Rotator.Tables(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if i := slices.IndexFunc(tables, func(in store.Info) bool { return in.Month == january }); i >= 0 {
		t.Errorf("%s of January was not dropped by April; it was retired at %s", tables[i].Table, tables[i].Retired)
	}
	if len(tables) == 0 {
		t.Error("there are no tables")
	}
}
