package diskguard

import (
	"errors"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/health"
)

type diskFS struct {
	vfs.FS
	free uint64
}

func (d *diskFS) GetDiskUsage(string) (vfs.DiskUsage, error) {
	return vfs.DiskUsage{AvailBytes: d.free, TotalBytes: 1 << 40}, nil
}

// TestGuard_RefusesBelowLimits checks which writes are refused at each amount of free space, and whether
// the condition is set.
func TestGuard_RefusesBelowLimits(t *testing.T) {
	const minFree = 100 << 20
	for _, c := range []struct {
		free              uint64
		min               int64
		found             error // error of an earlier write, or nil
		readings, items   bool  // whether readings and items may be written
		reserve, reported bool
	}{
		{free: minFree, min: minFree, readings: true, items: true, reserve: true},
		{free: minFree - 1, min: minFree, items: true, reserve: true, reported: true},
		{free: minFree/2 - 1, min: minFree, reserve: true, reported: true},
		{free: 0, min: -1, readings: true, items: true, reserve: true},
		{free: resumeFree - 1, min: -1, found: syscall.ENOSPC, reported: true},
		{free: resumeFree, min: -1, found: syscall.ENOSPC, readings: true, items: true, reserve: true},
		{free: minFree, min: minFree, found: errors.New("other"), readings: true, items: true, reserve: true},
	} {
		t.Run(fmt.Sprintf("free=%d/min=%d/%v", c.free, c.min, c.found), func(t *testing.T) {
			now := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
			conditions := health.New(health.Options{})
			g := New(&diskFS{FS: vfs.NewMem(), free: c.free}, "data", c.min, conditions)
			g.now = func() time.Time { return now }
			if c.found != nil {
				if err := g.Unavailable(c.found); varve.FailureOf(err) != varve.Unavailable || !errors.Is(err, c.found) {
					t.Errorf("a write is refused with %v", err)
				}
				now = now.Add(checkEvery)
			}
			for name, check := range map[string]struct {
				got  error
				want bool
			}{"readings": {g.CheckReadings(), c.readings}, "items": {g.CheckItems(), c.items}, "reserve": {g.CheckReserve(), c.reserve}} {
				if (check.got == nil) != check.want {
					t.Errorf("%s: %v, want permission %t", name, check.got, check.want)
				}
			}
			if got := len(conditions.List()) > 0; got != c.reported {
				t.Errorf("the condition is %t, want %t", got, c.reported)
			}
		})
	}
}
