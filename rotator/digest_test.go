package rotator_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/varvedb/varve/rotator"
)

// TestRunPlan_RefusesOtherPlan reads a plan that changes before it is applied. The run must return
// an error with both digests, and apply no action. The health must not record a failure. A run with
// the new digest must apply the new plan.
func TestRunPlan_RefusesOtherPlan(t *testing.T) {
	w := runWorld(t)
	mustRun(t, w.rotator)
	w.clock = w.clock.AddDate(0, 1, 0)
	read, err := w.rotator.Plan(t.Context(), time.Time{})
	if err != nil || len(read.Actions) == 0 {
		t.Fatalf("plan %+v, %v; want actions", read, err)
	}
	w.clock = w.clock.AddDate(0, 1, 0)
	tables, health := len(w.tables()), w.rotator.Health()
	now, err := w.rotator.RunPlan(t.Context(), read.Digest())
	if !errors.Is(err, rotator.ErrOtherPlan) || !strings.Contains(err.Error(), read.Digest()) || !strings.Contains(err.Error(), now.Digest()) {
		t.Errorf("error %v, want ErrOtherPlan with both digests", err)
	}
	if n := len(w.tables()); n != tables {
		t.Errorf("%d tables after the refused run, want %d", n, tables)
	}
	if h := w.rotator.Health(); h.LastError != "" || h.LastSuccess != health.LastSuccess {
		t.Errorf("health %+v after the refused run, before %+v", h, health)
	}
	if _, err := w.rotator.RunPlan(t.Context(), now.Digest()); err != nil {
		t.Errorf("the current plan: %v", err)
	}
	if n := len(w.tables()); n == tables {
		t.Error("the accepted run created no table")
	}
}

// TestDigest_NamesActionsOnly compares the digests of plans. They must depend on the actions, and
// not on the time or on the number of readings.
func TestDigest_NamesActionsOnly(t *testing.T) {
	w := runWorld(t)
	first, err := w.rotator.Plan(t.Context(), time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	w.clock = w.clock.Add(time.Hour)
	later, err := w.rotator.Plan(t.Context(), time.Time{})
	if err != nil || first.Digest() != later.Digest() || len(first.Digest()) != 16 {
		t.Errorf("digests %s and %s of one plan an hour later, %v; want equal ones", first.Digest(), later.Digest(), err)
	}
	later.Actions[0].Readings++
	if first.Digest() != later.Digest() {
		t.Error("the digest depends on the number of readings")
	}
	later.Actions = later.Actions[1:]
	if first.Digest() == later.Digest() {
		t.Error("a plan with fewer actions has the same digest")
	}
}
