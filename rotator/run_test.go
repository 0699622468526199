package rotator_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/lease"
	"github.com/varvedb/varve/retention"
	"github.com/varvedb/varve/rotator"
)

func smallPolicy() rotator.Policy {
	return rotator.Policy{
		Grid: grid.Policy{Future: day}, Drop: true,
		Retention: &retention.Policy{Prefix: "varve", Classes: []retention.Class{{Name: retention.DefaultClass, Retention: 10 * day}}},
	}
}

// another returns a rotator of another process that uses the world's store.
func (w *world) another(name string, events rotator.Events) *rotator.Rotator {
	return rotator.New(rotator.Options{
		Catalog: w.store, Creator: w.store, Lifecycle: w.store, Items: w.store, Policy: w.policy, Now: w.now,
		Holder: name, Events: events,
	})
}

func runWorld(t *testing.T) *world {
	w := newWorld(t, time.Date(2026, 1, 15, 0, 0, 0, 0, time.UTC))
	w.start(smallPolicy())
	return w
}

// TestRun_OneAtATime starts runs during a run, in this process and in another one. These runs must
// fail with ErrHeld, but the health must not show a failure. They must succeed once the first run
// has ended.
func TestRun_OneAtATime(t *testing.T) {
	w := runWorld(t)
	other := w.another("other", rotator.Events{})
	var errs []error
	w.store.before = func(op string, _ grid.Table) error {
		if op == "create" && len(errs) == 0 {
			errs = append(errs, nil)
			_, first := other.Run(t.Context())
			_, second := w.rotator.Run(t.Context())
			errs = []error{first, second}
		}
		return nil
	}
	if _, err := w.rotator.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i, err := range errs {
		if !errors.Is(err, lease.ErrHeld) {
			t.Errorf("run %d during another: %v", i, err)
		}
	}
	if h := other.Health(); h != (rotator.Health{Ahead: rotator.TableCount{Wanted: 6}}) {
		t.Errorf("being second is not to have run, and to know of the tables: %+v", h)
	}
	if _, err := other.Run(t.Context()); err != nil {
		t.Errorf("after the run: %v", err)
	}
}

// TestRun_ReportsTablesBeforeDrops runs a new process that creates and retires tables. Its health must have the
// created tables as soon as they exist, because drops may take long.
func TestRun_ReportsTablesBeforeDrops(t *testing.T) {
	w := runWorld(t)
	if _, err := w.rotator.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.clock = w.clock.Add(60 * day)
	r := w.another("other", rotator.Events{})
	retired := 0
	w.store.before = func(op string, in grid.Table) error {
		if op == "retire" {
			retired++
			if h := r.Health(); !h.Usable || h.Ahead.Existing != h.Ahead.Wanted || h.Ahead.Wanted == 0 {
				t.Errorf("health before %s is retired: %+v, want all tables", in, h)
			}
		}
		return nil
	}
	if _, err := r.Run(t.Context()); err != nil || retired == 0 {
		t.Errorf("%d tables were retired, %v, want some", retired, err)
	}
}

// TestRun_ExtendsLease checks that each action of a long run extends the lease. If one action
// lasts too long, the run must lose the lease and must stop.
func TestRun_ExtendsLease(t *testing.T) {
	for _, c := range []struct {
		name  string
		pause time.Duration
		lost  bool
	}{{"slow", 3 * time.Minute, false}, {"stuck", 36 * time.Minute, true}} {
		t.Run(c.name, func(t *testing.T) {
			w := runWorld(t)
			other := w.another("other", rotator.Events{})
			inside, steps, taken := false, 0, error(nil)
			w.store.before = func(op string, _ grid.Table) error {
				if op != "create" || inside {
					return nil
				}
				if steps++; steps == 3 {
					inside = true
					w.clock = w.clock.Add(c.pause)
					_, taken = other.Run(t.Context())
					inside = false
				} else {
					w.clock = w.clock.Add(2 * time.Minute)
				}
				return nil
			}
			_, err := w.rotator.Run(t.Context())
			if c.lost {
				if !errors.Is(err, lease.ErrLost) || steps != 3 || taken != nil {
					t.Errorf("%d steps, then %v; the other run: %v", steps, err, taken)
				}
				return
			}
			if err != nil || steps != 12 || !errors.Is(taken, lease.ErrHeld) {
				t.Errorf("%d steps, %v; the other run: %v", steps, err, taken)
			}
		})
	}
}

// TestRun_EndsWithContext cancels the context of a run. The run must not begin another action,
// must return the cause, and must release the lease.
func TestRun_EndsWithContext(t *testing.T) {
	w := runWorld(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("shutting down")
	steps := 0
	w.store.before = func(op string, _ grid.Table) error {
		if op == "create" {
			if steps++; steps == 4 {
				cancel(why)
			}
		}
		return nil
	}
	_, err := w.rotator.Run(ctx)
	if !errors.Is(err, why) || steps != 4 {
		t.Errorf("%d steps, %v", steps, err)
	}
	if _, err := w.another("other", rotator.Events{}).Run(t.Context()); err != nil {
		t.Errorf("the lease was kept: %v", err)
	}
	if n := len(w.tables()); n != 12 {
		t.Errorf("%d tables after the second run", n)
	}
}

// TestRun_ReportsEventsAndHealth checks that each action and then the run are reported as events.
// Health must have the last success and the last failure.
func TestRun_ReportsEventsAndHealth(t *testing.T) {
	w := runWorld(t)
	var told []string
	r := w.another("me", rotator.Events{
		Applied: func(a rotator.Action, _ time.Duration, err error) {
			told = append(told, fmt.Sprintf("%s %v", a.Kind, err != nil))
		},
		Finished: func(p *rotator.Plan, _ time.Duration, err error) {
			told = append(told, fmt.Sprintf("end %d %v", len(p.Actions), err != nil))
		},
	})
	n := 0
	w.store.before = func(op string, tb grid.Table) error {
		if op != "create" {
			return nil
		}
		if n++; n%2 == 0 {
			return errors.New("out of tables")
		}
		return nil
	}
	p, err := r.Run(t.Context())
	if err == nil || strings.Count(err.Error(), "out of tables") != 3 || failedSteps(err.Error()) != 6 || !strings.Contains(err.Error(), "create "+p.Actions[1].Table.Name()) {
		t.Errorf("the failures are not told: %v", err)
	}
	want := strings.Repeat("create false,create true,", 6) + "end 12 true"
	if got := strings.Join(told, ","); got != want {
		t.Errorf("told %s\nwant %s", got, want)
	}
	h := r.Health()
	if !h.LastSuccess.IsZero() || h.LastError == "" || !h.LastRun.Equal(w.clock) || h.Ahead.Existing != 3 || h.Ahead.Wanted != 6 || h.Tables != 6 {
		t.Errorf("after a failure: %+v", h)
	}
	w.store.before = nil
	if _, err := r.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	good := rotator.Health{LastSuccess: w.clock, LastRun: w.clock, Usable: true, Ahead: rotator.TableCount{Existing: 6, Wanted: 6}, Tables: 12}
	if h := r.Health(); h != good {
		t.Errorf("after a success: %+v, want %+v", h, good)
	}
	w.clock = w.clock.Add(time.Hour)
	w.store.before = func(op string, _ grid.Table) error {
		if op == "list" {
			return errors.New("no answer")
		}
		return nil
	}
	if _, err := r.Run(t.Context()); err == nil {
		t.Error("the tables could not be listed, and the run succeeded")
	}
	h = r.Health()
	if good.LastError = h.LastError; h != good || !strings.Contains(h.LastError, "list tables: no answer") {
		t.Errorf("after a run without a plan: %+v", h)
	}
}

func TestPlan_ForOtherTimeChangesNothing(t *testing.T) {
	w := runWorld(t)
	if _, err := w.rotator.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.store.before = func(op string, tb grid.Table) error {
		if op != "list" {
			t.Errorf("planning would %s %s", op, tb)
		}
		return nil
	}
	at := w.clock.AddDate(1, 0, 0)
	p, err := w.rotator.Plan(t.Context(), at)
	if err != nil || !p.Now.Equal(at) || p.Counts()[rotator.Retire] != 12 || p.Ahead.Existing != 0 || p.Ahead.Wanted == 0 {
		t.Errorf("%v: %+v", err, p)
	}
	if p, err = w.rotator.Plan(t.Context(), time.Time{}); err != nil || !p.Now.Equal(w.clock) || len(p.Actions) != 0 || p.Ahead.Existing != p.Ahead.Wanted {
		t.Errorf("%v: %+v", err, p)
	}
}

// TestPolicy_ReportsAllViolations checks that Validate returns one error for each invalid
// parameter.
func TestPolicy_ReportsAllViolations(t *testing.T) {
	p := smallPolicy()
	if err := p.Validate(); err != nil {
		t.Fatal(err)
	}
	p.Seal, p.Grace, p.MaxDrops, p.Grid.Recent, p.MonthsAhead = 8*day, -time.Second, -1, -1, rotator.MaxMonthsAhead+1
	err := p.Validate()
	for _, param := range []string{"seal", "grace", "max_drops", "recent", "months_ahead"} {
		if err == nil || !strings.Contains(err.Error(), param+": ") {
			t.Errorf("%s is not told of: %v", param, err)
		}
	}
	if varve.FailureOf(err) != varve.Invalid {
		t.Errorf("not invalid: %v", err)
	}
}
