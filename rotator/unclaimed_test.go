package rotator_test

import (
	"github.com/varvedb/varve/rotator"
	"strings"
	"testing"
	"time"
)

// TestPlan_SkipsTablesWithoutClass changes the prefix, so that no class is configured for the
// existing tables. Plans must skip these tables with a reason, and the tables must still be listed.
func TestPlan_SkipsTablesWithoutClass(t *testing.T) {
	w := runWorld(t)
	mustRun(t, w.rotator)
	old := map[string]bool{}
	for _, in := range w.tables() {
		old[in.Name()] = true
	}
	p := smallPolicy()
	p.Retention.Prefix = "other"
	w.start(p)
	for range 6 {
		w.clock = w.clock.AddDate(0, 1, 0)
		checkSkipped(t, mustRun(t, w.rotator), old)
	}
	left, now := 0, w.clock
	for _, in := range w.tables() {
		if !old[in.Name()] {
			continue
		}
		left++
		f := w.policy.ScheduleOf(&in)
		if !strings.Contains(f.Why, "no class is configured for its prefix") || !f.Drops.IsZero() || !f.Retires.IsZero() {
			t.Errorf("%s: %+v", in.Table, f)
		}
		if s := w.policy.StateOf(&in, now); s != rotator.Sealed {
			t.Errorf("%s is %s", in.Table, s)
		}
	}
	if left != len(old) || left == 0 {
		t.Errorf("%d of %d are left", left, len(old))
	}
}

func checkSkipped(t *testing.T, p rotator.Plan, old map[string]bool) {
	t.Helper()
	for _, a := range p.Actions {
		if old[a.Table.Name()] {
			t.Errorf("%s: %s %s", p.Now.Format(time.DateOnly), a.Kind, a.Table)
		}
	}
	kept := 0
	for _, k := range p.Skipped {
		if old[k.Table.Name()] && k.Reason == "no class is configured for its prefix" {
			kept++
		}
	}
	if kept != len(old) {
		t.Errorf("%s: %d of %d are among the kept", p.Now.Format(time.DateOnly), kept, len(old))
	}
}
