package engine_test

import (
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/erasures"
)

// TestErasure_IsPlannedAfterLastArrival stores a reading, and then sets the clock back by a minute.
// A plan at that time would leave out the reading. So the plan must fail until the clock has
// reached the arrival of the reading.
func TestErasure_IsPlannedAfterLastArrival(t *testing.T) {
	w := openArchiveWorld(t)
	tableOfOne(t, w.Engine, w.clock)
	w.clock = w.clock.Add(-time.Minute)
	target := erasures.Target{Tenant: varve.DefaultTenant, Device: "d", Window: varve.AllTime()}
	if p, err := w.Erasures.Plan(t.Context(), target); varve.FailureOf(err) != varve.Unavailable {
		t.Errorf("a plan before the last arrival: %+v, %v", p.Tables, err)
	}
	w.clock = w.clock.Add(time.Minute)
	p, err := w.Erasures.Plan(t.Context(), target)
	if n, _ := p.Readings(); n != 1 || err != nil {
		t.Errorf("%d readings, %v", n, err)
	}
}
