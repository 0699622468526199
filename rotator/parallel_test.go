package rotator_test

import (
	"errors"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/rotator"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestRun_CreatesInParallel checks that tables are created in parallel, up to the limit. One
// failure must not stop the other creations. Events must be called one after the other.
func TestRun_CreatesInParallel(t *testing.T) { synctest.Test(t, parallelCreates) }

func parallelCreates(t *testing.T) {
	w := runWorld(t)
	const parallel = 4
	var applied, failed int // without a lock, so that the race detector finds parallel events
	r := rotator.New(rotator.Options{
		Catalog: w.store, Creator: w.store, Lifecycle: w.store, Items: w.store, Policy: w.policy, Now: w.now,
		Holder: "x", Parallel: parallel, Events: rotator.Events{Applied: func(_ rotator.Action, _ time.Duration, err error) {
			if applied++; err != nil {
				failed++
			}
		}},
	})
	var calls atomic.Int64
	full := make(chan struct{})
	broken := errors.New("broken")
	w.store.before = func(op string, _ grid.Table) error {
		if op != "create" {
			return nil
		}
		n := calls.Add(1)
		<-full // closed once as many creations have begun as the limit allows
		if n == 2 {
			return broken
		}
		return nil
	}
	var p rotator.Plan
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		p, err = r.Run(t.Context())
	}()
	synctest.Wait()
	if n := calls.Load(); n != parallel {
		t.Errorf("%d at a time", n)
	}
	close(full)
	<-done
	if !errors.Is(err, broken) {
		t.Errorf("the run: %v", err)
	}
	if n := len(p.Actions); n < 2*parallel || applied != n || failed != 1 {
		t.Errorf("%d actions, %d applied, %d failed", n, applied, failed)
	}
	if p, err = r.Run(t.Context()); err != nil || len(p.Actions) != 1 {
		t.Errorf("the next run: %d actions, %v", len(p.Actions), err)
	}
}
