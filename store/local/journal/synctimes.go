package journal

import (
	"maps"
	"slices"
	"sync"
	"time"
)

// syncBounds are the upper bounds of the histogram buckets of SyncTimes, in seconds. They cover all
// disks from one with a protected write cache to one that is failing.
var syncBounds = []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}

// SyncTimes are the durations of successful group commits: the write and the sync.
type SyncTimes struct {
	Count   uint64
	Seconds float64            // sum of the durations
	Buckets map[float64]uint64 // number of commits that took at most the seconds in the key
}

type syncMeter struct {
	mu    sync.Mutex
	times SyncTimes
}

func (m *syncMeter) observe(took time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.times.Buckets == nil {
		m.times.Buckets = map[float64]uint64{}
	}
	m.times.Count++
	m.times.Seconds += took.Seconds()
	for _, bound := range slices.Backward(syncBounds) {
		if took.Seconds() > bound {
			break
		}
		m.times.Buckets[bound]++
	}
}

// SyncTimes returns the durations of commits since the journal was opened.
func (w *Writer) SyncTimes() SyncTimes {
	w.syncs.mu.Lock()
	defer w.syncs.mu.Unlock()
	t := w.syncs.times
	t.Buckets = map[float64]uint64{}
	for _, bound := range syncBounds {
		t.Buckets[bound] = 0
	}
	maps.Copy(t.Buckets, w.syncs.times.Buckets)
	return t
}
