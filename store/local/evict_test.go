package local

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/store"
)

// TestSeriesBuffers_AreEvicted checks that the number of idle series buffers is bounded. A resent reading of
// an evicted series must be a duplicate, also under concurrent writes.
func TestSeriesBuffers_AreEvicted(t *testing.T) {
	s, err := Open(Options{Dir: "data", FS: vfs.NewMem(), MemtableBytes: 64 << 10, Events: Events{
		Failed: func(what string, err error) { t.Errorf("%s: %v", what, err) },
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	at := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	month := grid.MonthOf(at)
	r, _ := grid.DefaultPolicy().Locate(at, month)
	table := grid.Table{Prefix: "t", Range: r, Month: month}
	if err := s.Create(t.Context(), table, store.Hot); err != nil {
		t.Fatal(err)
	}
	const devices, writers = 6000, 3
	var stored, duplicates atomic.Int64
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for from := 0; from < devices; from += 100 {
				list := make([]varve.Reading, 100)
				for i := range list {
					list[i] = readingOf((from+i+w*devices/writers)%devices, at)
				}
				result := s.Write(t.Context(), []store.Batch{{Table: table, Readings: list}})[0]
				if result.Err != nil {
					t.Error(result.Err)
					return
				}
				for _, v := range result.Verdicts {
					if v.Outcome == varve.Stored {
						stored.Add(1)
					} else {
						duplicates.Add(1)
					}
				}
			}
		})
	}
	wg.Wait()
	if stored.Load() != devices || duplicates.Load() != devices*(writers-1) {
		t.Errorf("%d were stored and %d duplicates, want %d and %d", stored.Load(), duplicates.Load(), devices, devices*(writers-1))
	}
	kept, exist := awaitEviction(s, 2*int(s.mem.idleLimit())+devices/10)
	if kept > 2*int(s.mem.idleLimit())+devices/10 || kept != exist {
		t.Errorf("%d series buffers are counted, and %d exist; those without readings should be at most %d", kept, exist, 2*int(s.mem.idleLimit()))
	}
}

func readingOf(device int, at time.Time) varve.Reading {
	r := varve.Reading{
		Series: varve.Series{Tenant: "a", Stream: "s", Device: fmt.Sprint(device)}, Time: at, Arrived: at,
		Fields: []varve.Field{{Name: "n", Value: varve.IntValue(int64(device))}},
	}
	r.Normalize()
	return r
}

// awaitEviction waits up to about two minutes until the store counts at most the given number of series
// buffers. It returns this count, and the number of series buffers that exist.
func awaitEviction(s *Store, most int) (kept, exist int) {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	kept, exist = countBuffers(s)
	for range 24_000 { // two minutes, for a very busy machine
		if kept <= most {
			break
		}
		<-tick.C
		kept, exist = countBuffers(s)
	}
	return kept, exist
}

func countBuffers(s *Store) (counted, exist int) {
	s.mem.mu.Lock()
	defer s.mem.mu.Unlock()
	for _, tb := range s.mem.tables.sorted {
		exist += tb.bufferCount()
	}
	return int(s.mem.bufferCount.Load()), exist
}
