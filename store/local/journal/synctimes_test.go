package journal

import (
	"testing"
	"time"
)

// TestSyncMeter_CountsPerBucket checks that a bucket counts durations up to its bound.
func TestSyncMeter_CountsPerBucket(t *testing.T) {
	var w Writer
	for _, took := range []time.Duration{50 * time.Microsecond, 3 * time.Millisecond, 5 * time.Millisecond, time.Minute} {
		w.syncs.observe(took)
	}
	got := w.SyncTimes()
	for bound, want := range map[float64]uint64{.0001: 1, .0025: 1, .005: 3, 10: 3} {
		if got.Buckets[bound] != want {
			t.Errorf("%d commits within %v s, want %d", got.Buckets[bound], bound, want)
		}
	}
	if got.Count != 4 || got.Seconds < 60 || len(got.Buckets) != len(syncBounds) {
		t.Errorf("%+v", got)
	}
}
