package engine_test

import (
	"context"
	"errors"
	"github.com/varvedb/varve/engine"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/mem"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestOpen_SucceedsIfRotationFails checks that Open succeeds if its rotation fails. The events and the
// health must have the failure until a run succeeds.
func TestOpen_SucceedsIfRotationFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &watched{Store: mem.New(nil)}
		s.onCreate(func() error { return errors.New("no table today") })
		var l log
		e := open(t, engine.Options{Store: s, Events: l.events()})
		wait(90 * time.Minute)
		h := e.Rotator.Health()
		if !strings.Contains(h.LastError, "no table today") || !h.LastSuccess.IsZero() || h.Ahead.Existing != 0 || h.Ahead.Wanted == 0 {
			t.Errorf("health %+v", h)
		}
		if _, errs, steps := l.recorded(); len(errs) != 2 || errs[0] == nil || errs[1] == nil || steps == 0 {
			t.Errorf("events: %d steps, %v", steps, errs)
		}
		s.onCreate(nil)
		wait(time.Hour)
		h = e.Rotator.Health()
		if h.LastError != "" || !h.LastSuccess.Equal(time.Date(2000, 1, 1, 2, 0, 0, 0, time.UTC)) || h.Ahead.Existing != h.Ahead.Wanted {
			t.Errorf("health after it was repaired: %+v", h)
		}
		if _, errs, _ := l.recorded(); len(errs) != 3 || errs[2] != nil {
			t.Errorf("events after it was repaired: %v", errs)
		}
	})
}

// TestOpen_ContinuesLongRotationInBackground opens an engine whose first rotation takes ten minutes. Open must return
// earlier, so that requests are served, and the rotation must end.
func TestOpen_ContinuesLongRotationInBackground(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &watched{Store: mem.New(nil)}
		var steps atomic.Int32
		s.onCreate(func() error {
			if steps.Add(1) == 1 {
				<-time.After(10 * time.Minute)
			}
			return nil
		})
		begin := time.Now()
		e := open(t, engine.Options{Store: s})
		if took := time.Since(begin); took > time.Minute || !e.Rotator.Health().LastRun.IsZero() {
			t.Errorf("Open took %s and the rotation %s, want at most 1m before its end", took, e.Rotator.Health().LastRun)
		}
		wait(10 * time.Minute)
		if h := e.Rotator.Health(); h.LastSuccess.IsZero() || h.Ahead.Existing != h.Ahead.Wanted {
			t.Errorf("health %+v, want a successful rotation", h)
		}
	})
}

// TestClose_FinishesCurrentAction checks that Close waits for the current action of a run, starts no
// further action, and closes the store last.
func TestClose_FinishesCurrentAction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &watched{Store: mem.New(nil)}
		var l log
		e := open(t, engine.Options{Store: s, Events: l.events()})
		var inStep, closedInStep atomic.Int32
		s.onCreate(func() error {
			inStep.Add(1)
			<-time.After(10 * time.Minute) // the creation ignores the context
			closedInStep.Add(s.closed.Load())
			return nil
		})
		wait(31 * 24 * time.Hour) // 1 February, midnight: the tables of March must be created
		if n := inStep.Load(); n != 1 {
			t.Fatalf("%d steps are under way", n)
		}
		wait(3 * time.Minute)
		begin := time.Now()
		if err := e.Close(); err != nil {
			t.Error(err)
		}
		if took := time.Since(begin); took != 7*time.Minute {
			t.Errorf("Close took %s, the step had 7m to go", took)
		}
		_, errs, _ := l.recorded()
		last := errs[len(errs)-1]
		if closedInStep.Load() != 0 || s.closed.Load() != 1 || inStep.Load() != 1 || !errors.Is(last, context.Canceled) {
			t.Errorf("closed during the step: %d; %d steps; the run ended with %v", closedInStep.Load(), inStep.Load(), last)
		}
	})
}

// TestSchedule_SkipsRunDuringLongRun checks that runs do not overlap, and that a skipped run is
// not a failure.
func TestSchedule_SkipsRunDuringLongRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &watched{Store: mem.New(nil)}
		e := open(t, engine.Options{Store: s, Schedule: "@every 5m"})
		var running, steps, together atomic.Int32
		s.onCreate(func() error {
			steps.Add(1)
			if running.Add(1) > 1 {
				together.Add(1)
			}
			<-time.After(7 * time.Minute)
			running.Add(-1)
			return nil
		})
		wait(31*24*time.Hour + 4*time.Hour)
		if steps.Load() == 0 || together.Load() > 0 {
			t.Errorf("%d steps, %d of them while another was under way", steps.Load(), together.Load())
		}
		h := e.Rotator.Health()
		if h.LastError != "" || h.Ahead.Existing != h.Ahead.Wanted || time.Since(h.LastSuccess) > 5*time.Minute {
			t.Errorf("health %+v", h)
		}
	})
}

// shared is a store that remains open after an engine closes.
type shared struct{ store.Store }

func (shared) Close() error { return nil }

// TestOpen_TwoProcessesTakeTurns checks that two processes on one store rotate in turn under
// different names. Open must succeed while the other process rotates.
func TestOpen_TwoProcessesTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &watched{Store: mem.New(nil)}
		var second *engine.Engine
		s.onCreate(func() error {
			if second == nil {
				s.onCreate(nil)
				second = open(t, engine.Options{Store: shared{s}})
				if h := second.Rotator.Health(); !h.LastSuccess.IsZero() || h.Usable || h.Ahead.Wanted == 0 {
					t.Errorf("the second one rotated too, or did not look: %+v", h)
				}
			}
			return nil
		})
		first := open(t, engine.Options{Store: shared{s}})
		if h := first.Rotator.Health(); h.LastError != "" || h.Ahead.Existing != h.Ahead.Wanted || h.Ahead.Wanted == 0 {
			t.Errorf("health %+v", h)
		}
		if second == nil {
			t.Fatal("no table was made")
		}
		for _, d := range []time.Duration{time.Minute, 10 * time.Hour} {
			wait(d)
			for i, e := range []*engine.Engine{first, second} {
				if h := e.Rotator.Health(); h.LastError != "" || !h.Usable || time.Since(h.LastSuccess) > time.Hour+time.Minute {
					t.Errorf("after %s, health of engine %d: %+v", d, i, h)
				}
			}
		}
	})
}

// TestSchedule_OutlivesContextOfOpen checks that the schedule runs until Close, even if the
// context of Open ended.
func TestSchedule_OutlivesContextOfOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l log
		ctx, cancel := context.WithCancel(t.Context())
		e, err := engine.Open(ctx, engine.Options{Store: mem.New(nil), Events: l.events()})
		if err != nil {
			t.Fatal(err)
		}
		cancel()
		wait(2*time.Hour + time.Minute)
		if _, errs, _ := l.recorded(); len(errs) != 3 || errs[2] != nil {
			t.Errorf("runs %v", errs)
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
}
