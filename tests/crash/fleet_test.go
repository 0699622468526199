package crash

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/varvedb/varve/api/client"
	"github.com/varvedb/varve/tests/varvetest"
)

// fleet is a cluster of several servers that use one DynamoDB and have different clocks.
type fleet struct {
	binary  string
	members []*member
	watch   leaseWatch
	reads   atomic.Int64 // how often all readings were read from one server

	mu       sync.Mutex
	readings map[string]*sent
	acked    int // number of distinct acknowledged readings
}

// member is a server of a fleet. It is restarted after each kill.
type member struct {
	dir      string
	skew     time.Duration // added to the time of its clock
	endpoint string        // address of the proxy through which the server uses DynamoDB

	mu     sync.Mutex
	server *varvetest.Server
	client *client.Client
}

func (m *member) setClock(t *testing.T, ahead time.Duration) {
	t.Helper()
	file := filepath.Join(m.dir, "clock")
	if err := os.WriteFile(file+".new", []byte((ahead + m.skew).String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(file+".new", file); err != nil {
		t.Fatal(err)
	}
}

// start starts the server. If that fails, the old server and client remain in place.
func (m *member) start(ctx context.Context, binary string) error {
	s, err := varvetest.Start(ctx, binary, m.dir, "--store", "dynamodb", "--set", "store.endpoint="+m.endpoint,
		"--set", "log.level=warn", "--set", "streams.crash.row_window=1s")
	if err != nil {
		return err
	}
	c, err := client.New(s.URL, client.WithRetries(0))
	if err != nil {
		return errors.Join(err, s.Kill())
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.server, m.client = s, c
	return nil
}

func (m *member) get() (*varvetest.Server, *client.Client) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.server, m.client
}

// Amounts of work before a kill, and a time limit. The amounts are not times, so that a slow machine
// does the same work.
const (
	readingsPerKill = 60               // distinct acknowledged readings
	leasesTaken     = 10               // lease changes before the first kill, because the lease of a killed server blocks the others for a while
	fleetDeadline   = 20 * time.Minute // limit of the whole test, in addition to the flag -within
)

// killSome kills and restarts one server after the other, each after enough work. If the work is
// not done in time, or a server does not start, killSome calls giveUp, which stops all writers.
func (f *fleet) killSome(ctx context.Context, t *testing.T, kills int, giveUp context.CancelFunc) (done int) {
	end := soakEnd()
	enough := func() bool { return f.watch.times() >= leasesTaken }
	for ; done < kills && time.Now().Before(end); done++ {
		if !f.work(ctx, t, enough) {
			giveUp()
			return done
		}
		who := done % len(f.members)
		s, _ := f.members[who].get()
		if err := s.Kill(); err != nil {
			t.Error(err)
		}
		f.watch.died(who)
		if err := f.members[who].start(t.Context(), f.binary); err != nil {
			t.Errorf("start server %d after kill %d: %v", who, done+1, err)
			giveUp()
			return done
		}
		enough = func() bool { return true }
	}
	if !f.work(ctx, t, enough) {
		giveUp()
	}
	return done
}

// work waits until the servers have acknowledged readingsPerKill new readings, one server has returned
// all stored readings, and the call also() returns true. Then it waits for some further readings, so that
// a kill may happen during a read. It returns false if ctx ends first.
func (f *fleet) work(ctx context.Context, t *testing.T, also func() bool) bool {
	t.Helper()
	firstAcked, firstReads := f.counts()
	done := f.await(ctx, t, func() bool {
		acked, reads := f.counts()
		return acked >= firstAcked+readingsPerKill && reads > firstReads && also()
	})
	acked, _ := f.counts()
	target := acked + rand.IntN(readingsPerKill)
	return done && f.await(ctx, t, func() bool {
		acked, _ := f.counts()
		return acked >= target
	})
}

// await waits until the function "done" returns true. It returns false if the test fails, or if ctx
// ends first, which fails the test.
func (f *fleet) await(ctx context.Context, t *testing.T, done func() bool) bool {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !t.Failed() {
		if done() {
			return true
		}
		select {
		case <-ctx.Done():
			acked, reads := f.counts()
			t.Errorf("the deadline passed after %d readings and %d whole reads, the lease was taken %d times", acked, reads, f.watch.times())
			return false
		case <-tick.C:
		}
	}
	return false
}

// counts returns the number of acknowledged readings, and the number of complete reads of a server.
func (f *fleet) counts() (acked int, reads int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.acked, f.reads.Load()
}
