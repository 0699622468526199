package changes_test

import (
	"testing"
	"time"
)

// TestChanges_ContinueAtProcessBehind reads a page that ends within a batch, and the next one from a process
// with an earlier settled time. That process must not report that all changes up to its settled time were
// returned.
func TestChanges_ContinueAtProcessBehind(t *testing.T) {
	n := newNodes(t, nil)
	defer n.close()
	ahead, behind, c := n.all[2], n.all[0], n.readers[0] // the clock of ahead is the slowest one, so its record limits the settled time
	renewAll := func(after time.Duration) {
		n.pass(after)
		for _, w := range n.all {
			n.renew(w)
		}
	}
	for range 20 { // until the clocks have passed the first arrivals
		renewAll(20 * time.Second)
	}
	ahead.check(c)
	received := len(c.got)
	ahead.send(0, ahead.reading(devices[0], start.Add(time.Second)), ahead.reading(devices[1], start.Add(time.Second)))
	n.pass(time.Second)
	n.renew(ahead)
	n.pass(500 * time.Millisecond)
	ahead.send(0, ahead.reading(devices[0], start.Add(2*time.Second)))
	n.pass(500 * time.Millisecond)
	n.renew(behind)
	n.renew(n.all[1])
	if ahead.poll(c, 2); len(c.got) != received+2 || c.cursor.Until.IsZero() {
		t.Fatalf("%d readings, cursor %+v; want 2 further readings and a cursor within a batch", len(c.got), c.cursor)
	}
	if more := behind.poll(c, 0); !more || len(c.got) != received+2 {
		t.Errorf("%d readings, more %t, settled %s; want no further reading, and more", len(c.got), more, c.settled)
	}
	if ahead.check(c); len(c.got) != received+3 {
		t.Errorf("%d readings, want all three", len(c.got))
	}
}

// TestCluster_EndsWithProcessThatStopsAtTheSameTime stops two processes at the same time. Both records must be removed,
// so that the settled time of the third process follows its clock.
func TestCluster_EndsWithProcessThatStopsAtTheSameTime(t *testing.T) {
	n := newNodes(t, nil)
	n.live(10*time.Minute, 0, 1, 2)
	second := n.all[2].close
	n.ended[0].Store(&second)
	n.all[0].close()
	if n.ended[0].Load() != nil {
		t.Fatal("the second process was not stopped")
	}
	n.live(time.Minute, 1) // the clock of this process is the fastest one
	if behind := n.all[1].now().Sub(n.settledOf(t, 1)); behind > time.Second {
		t.Errorf("the settled time is %s behind", behind)
	}
	n.all[1].close()
}
