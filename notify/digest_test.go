package notify_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/varvedb/varve/engine"
	"github.com/varvedb/varve/notify"
)

// TestSender_BeginsDigestAfterClockReset sets the clock back after a digest was sent. A further late alert must not
// join that digest, whose id receivers know.
func TestSender_BeginsDigestAfterClockReset(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		r := &receiver{}
		var offset atomic.Int64
		e, err := engine.Open(t.Context(), engine.Options{
			Store: newStore(), Holder: "test", NoRollups: true, Notify: engine.Notify{Targets: []notify.Target{all(r)}},
			Now: func() time.Time { return time.Now().Add(time.Duration(offset.Load())) },
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := e.Close(); err != nil {
				t.Error(err)
			}
		})
		w := &world{Engine: e, t: t}
		w.hot()
		w.send("a", time.Now().Add(-2*time.Hour), 35)
		wait(6 * time.Minute)
		expect(t, r, "digest 1 opened 0 resolved 1 open 1 devices")
		offset.Store(int64(-10 * time.Minute))
		w.send("b", time.Now().Add(-2*time.Hour), 35)
		wait(20 * time.Minute)
		expect(t, r, "digest 1 opened 0 resolved 1 open 1 devices, digest 1 opened 0 resolved 1 open 1 devices")
		if len(r.messages) == 2 && r.messages[0].ID == r.messages[1].ID {
			t.Errorf("both digests have the id %s", r.messages[0].ID)
		}
	})
}
