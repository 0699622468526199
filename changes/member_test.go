package changes_test

import (
	"strings"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/changes"
)

// live advances the clock in steps of 30 seconds. After each step, the given processes renew their
// records.
func (n *nodes) live(d time.Duration, alive ...int) {
	for ; d > 0; d -= 30 * time.Second {
		n.pass(30 * time.Second)
		for range 2 { // in the second round, processes read the arrivals that others stored in the first one
			for _, i := range alive {
				n.renew(n.all[i])
			}
		}
	}
}

func (n *nodes) settledOf(t *testing.T, i int) time.Time {
	t.Helper()
	at, _, err := n.all[i].engine.Cluster.Settled(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// TestCluster_WaitsForLateWrite has the store perform a write after its caller gave up, and the
// client resend it. The reading is stored with the arrival of the first write, so the settled time
// must wait for that write.
func TestCluster_WaitsForLateWrite(t *testing.T) {
	n := newNodes(t, nil)
	defer n.close()
	w, c := n.all[0], n.readers[0]
	for _, other := range n.all[1:] {
		other.close()
		defer other.open()
	}
	n.live(time.Minute, 0)
	r := w.reading("a", w.now())
	w.send(beforeReadings, r)
	w.release(0, errLate)
	n.live(30*time.Second, 0)
	w.check(c)
	n.late.perform()
	w.send(0, r)
	if !w.acked[r.String()] {
		t.Fatal("the resent reading was rejected")
	}
	n.live(10*time.Minute, 0)
	w.check(c)
	if _, ok := c.got[r.String()]; !ok {
		t.Errorf("%s is missing", r.String())
	}
}

// TestCluster_WaitsForDeadMember cuts a process off in the middle of a write. Its arrivals must stay
// unsettled while the write may be running, and be settled afterward.
func TestCluster_WaitsForDeadMember(t *testing.T) {
	n := newNodes(t, nil)
	defer n.close()
	n.live(time.Minute, 0, 1, 2)
	dead := n.all[1]
	r := dead.reading("a", dead.now())
	arrived := dead.now()
	dead.send(beforeReadings, r)
	n.cuts[1].Store(true)
	n.live(15*time.Minute, 0, 2)
	if at := n.settledOf(t, 0); at.After(arrived) {
		t.Errorf("settled %s, although a write with the arrival %s is running", at, arrived)
	}
	n.all[0].check(n.readers[0])
	n.cuts[1].Store(false)
	dead.release(0, nil)
	n.cuts[1].Store(true)
	n.live(20*time.Minute, 0, 2)
	// One clock is five minutes slow, and delays the settled time.
	if behind := n.all[0].clock.Sub(n.settledOf(t, 0)); behind > 6*time.Minute {
		t.Errorf("the settled time is %s behind", behind)
	}
	n.all[0].check(n.readers[0])
	if _, ok := n.readers[0].got[r.String()]; !ok {
		t.Errorf("%s is missing", r.String())
	}
}

// TestCluster_JoinsAfterSettledTime joins a process with a slow clock. Between its first requests, another
// process returns a settled time. Later arrivals of the slow process must be after that time.
func TestCluster_JoinsAfterSettledTime(t *testing.T) {
	n := newNodes(t, nil)
	defer n.close()
	slow := n.all[2]
	slow.close()
	n.live(10*time.Minute, 0, 1)
	settle := func() {
		n.live(30*time.Second, 0, 1)
		n.all[0].check(n.readers[0])
	}
	n.before[2].Store(&settle)
	slow.open()
	n.renew(slow)
	if n.before[2].Load() != nil {
		t.Fatal("the process has stored no record")
	}
	slow.send(0, slow.reading("a", slow.now()))
	n.live(10*time.Minute, 0, 1, 2)
	before := len(n.readers[0].got)
	if n.all[0].check(n.readers[0]); len(n.readers[0].got) != before+1 {
		t.Errorf("%d new readings, want 1", len(n.readers[0].got)-before)
	}
}

// TestCluster_RejectsSettledArrival cuts off a process whose clock is slow, until the record of this process
// is removed. The arrival of its next write is already settled. This write must be rejected as retryable, and
// the write after it must be stored.
func TestCluster_RejectsSettledArrival(t *testing.T) {
	n := newNodes(t, nil)
	defer n.close()
	n.cuts[2].Store(true)
	n.live(30*time.Minute, 0, 1)
	n.all[0].check(n.readers[0])
	n.cuts[2].Store(false)
	slow := n.all[2]
	r := slow.reading("a", slow.now())
	slow.send(0, r)
	if slow.acked[r.String()] {
		t.Error("a write with a settled arrival was stored")
	}
	slow.send(0, r)
	if !slow.acked[r.String()] {
		t.Error("the resent reading was rejected")
	}
	n.live(10*time.Minute, 0, 1, 2)
	n.all[0].check(n.readers[0])
}

// TestCluster_BeginsEpoch sets the clock of one process back by an hour. Cursors from before the
// reset must fail in all processes, and a read since the time in the error must return the later
// reading.
func TestCluster_BeginsEpoch(t *testing.T) {
	n := newNodes(t, nil)
	defer n.close()
	n.live(5*time.Minute, 0, 1, 2)
	w, c := n.all[0], n.readers[0]
	w.check(c)
	w.mu.Lock()
	n.all[1].offset -= 70 * time.Minute
	w.mu.Unlock()
	r := n.all[1].reading("a", n.all[1].now())
	n.all[1].send(0, r)
	if !w.acked[r.String()] {
		t.Fatal("the reading was rejected")
	}
	n.live(10*time.Minute, 0, 1, 2)
	_, err := w.engine.Changes.Open(t.Context(), changes.Query{Stream: weather, Since: c.cursor})
	if varve.FailureOf(err) != varve.Gone || !strings.Contains(err.Error(), "clock") {
		t.Fatalf("a cursor from before the reset: %v", err)
	}
	_, text, _ := strings.Cut(err.Error(), "use since=")
	since, err := time.Parse(time.RFC3339Nano, strings.TrimSuffix(text, ", which may repeat readings"))
	if err != nil {
		t.Fatal(err)
	}
	fresh := &consumer{cursor: changes.FromTime(since), since: since, got: map[string]time.Time{}}
	w.check(fresh)
	if _, ok := fresh.got[r.String()]; !ok {
		t.Errorf("the reading after the reset is not among %v", fresh.got)
	}
}

// TestCluster_OfOffStream checks processes with different settings. The index of an existing stream must
// begin after a delay. It must end when a process that has turned it off writes to the stream.
func TestCluster_OfOffStream(t *testing.T) {
	n := newNodes(t, nil)
	defer n.close()
	off := n.all[1]
	off.close()
	off.indexed = false
	off.open()
	off.send(0, off.reading("a", off.now()))
	n.live(2*time.Minute, 0)
	q := changes.Query{Stream: weather}
	if _, err := n.all[0].engine.Changes.Open(t.Context(), q); varve.FailureOf(err) != varve.Unavailable || !strings.Contains(err.Error(), "in all processes") {
		t.Errorf("a stream that another process has turned off: %v", err)
	}
	n.all[0].close()
	n.all[0].open()
	n.renew(n.all[0])
	n.all[0].send(0, n.all[0].reading("a", n.all[0].now()))
	if _, err := n.all[0].engine.Changes.Open(t.Context(), q); varve.FailureOf(err) != varve.Unavailable || !strings.Contains(err.Error(), "retry then") {
		t.Errorf("an index that begins later: %v", err)
	}
	n.live(40*time.Minute, 0)
	if _, err := n.all[0].engine.Changes.Open(t.Context(), q); err != nil {
		t.Errorf("an index that began: %v", err)
	}
}
