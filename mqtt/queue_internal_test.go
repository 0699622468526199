package mqtt

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/varvedb/varve/internal/lanes"
)

// TestQueue_RestsForLiveWrites checks that a queue rests only while it has a backlog and live writes
// arrive.
func TestQueue_RestsForLiveWrites(t *testing.T) {
	for _, c := range []struct {
		what  string
		open  int64
		live  bool
		rests bool
	}{
		{"a backlog beside live writes", backlogFrom, true, true},
		{"a backlog alone", backlogFrom, false, false},
		{"few messages beside live writes", backlogFrom - 1, true, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			l := lanes.New(time.Now)
			q := &queue{pace: l.Pace()}
			q.open.Store(c.open)
			if c.live {
				l.Small()
			}
			<-time.After(3 * time.Millisecond) // stands for the computing time of the queue
			before := time.Now()
			q.yield()
			if rests := time.Since(before) > 0; rests != c.rests {
				t.Errorf("%s: rested %s, want a rest: %t", c.what, time.Since(before), c.rests)
			}
		})
	}
}
