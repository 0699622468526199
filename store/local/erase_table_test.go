package local_test

import (
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/local"
)

// syncCounter counts the syncs of files.
type syncCounter struct{ syncs atomic.Int64 }

func (c *syncCounter) MaybeError(op errorfs.Op) error {
	if slices.Contains([]errorfs.OpKind{errorfs.OpFileSync, errorfs.OpFileSyncData, errorfs.OpFileSyncTo}, op.Kind) {
		c.syncs.Add(1)
	}
	return nil
}

func (c *syncCounter) String() string { return "counter of syncs" }

// TestEraseTable_SyncsOnceForAllSeries erases the later half of the readings of few and of many series. The
// other readings must stay, and the number of syncs must not grow with the number of series.
func TestEraseTable_SyncsOnceForAllSeries(t *testing.T) {
	syncs := map[int]int64{}
	for _, devices := range []int{2, 100} {
		c := &syncCounter{}
		s := open(t, local.Options{FS: errorfs.Wrap(vfs.NewMem(), c), MinFree: -1})
		tb := week(t, 0)
		create(t, s, tb)
		const n = 10
		for i := range devices {
			list := readings(t, tb, device(i), n)
			for j := n / 2; j < n; j++ {
				list[j].Arrived = arrived.Add(time.Hour)
			}
			write(t, s, tb, list, varve.Stored)
		}
		before := c.syncs.Load()
		erased, err := s.EraseTable(t.Context(), store.Erasure{Table: tb, Window: varve.AllTime(), After: arrived, Arrived: arrived.Add(time.Hour)})
		if err != nil || erased != int64(devices*n/2) {
			t.Fatalf("%d readings of %d were erased: %v", erased, devices*n, err)
		}
		syncs[devices] = c.syncs.Load() - before
		for i := range devices {
			if left := all(t, s, tb, device(i)); len(left) != n/2 || left[n/2-1].Arrived.After(arrived) {
				t.Fatalf("%s has %d readings, want the first %d", device(i), len(left), n/2)
			}
		}
	}
	if syncs[100] > 2*syncs[2]+10 {
		t.Errorf("%d syncs for 100 series, and %d for 2", syncs[100], syncs[2])
	}
}
