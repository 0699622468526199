package engine_test

import (
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/engine"
	"github.com/varvedb/varve/erasures"
	"github.com/varvedb/varve/retention"
	"github.com/varvedb/varve/rollup"
	"github.com/varvedb/varve/store/mem"
)

// openDroppingWorld returns an engine on a store in memory, which drops expired tables after 30 days.
func openDroppingWorld(t *testing.T) *archiveWorld {
	t.Helper()
	w := &archiveWorld{t: t, clock: time.Date(2026, 3, 15, 0, 0, 0, 0, time.UTC)}
	now := func() time.Time { return w.clock }
	policy := engine.DefaultRotation()
	policy.Drop = true
	policy.Retention = &retention.Policy{Prefix: "varve", Classes: []retention.Class{{Name: retention.DefaultClass, Retention: 30 * day}}}
	w.Engine = open(t, engine.Options{Store: mem.New(now), Rotation: policy, Now: now})
	w.WaitForFirst()
	return w
}

// counted returns the number of readings in the hourly and in the daily roll-ups of the device d.
func (w *archiveWorld) counted() (hourly, daily int64) {
	w.t.Helper()
	q := rollup.Query{Series: varve.Series{Tenant: varve.DefaultTenant, Stream: "weather", Device: "d"}, Window: varve.AllTime(), Limit: rollup.MaxLimit}
	for period, sum := range map[rollup.Period]*int64{rollup.Hourly: &hourly, rollup.Daily: &daily} {
		q.Period = period
		page, err := w.Rollups.Read(w.t.Context(), q)
		if err != nil {
			w.t.Fatal(err)
		}
		for i := range page.Rollups {
			*sum += page.Rollups[i].Readings
		}
	}
	return hourly, daily
}

// aggregate advances the clock by three hours, so that markers are due, and runs the aggregator.
func (w *archiveWorld) aggregate() {
	w.t.Helper()
	w.clock = w.clock.Add(3 * time.Hour)
	if _, err := w.Aggregator.Run(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
}

func (w *archiveWorld) begin(target erasures.Target) string {
	w.t.Helper()
	p, err := w.Erasures.Plan(w.t.Context(), target)
	if err != nil {
		w.t.Fatal(err)
	}
	r, err := w.Erasures.Begin(w.t.Context(), target, p.Digest(), "")
	if err != nil {
		w.t.Fatal(err)
	}
	return r.ID
}

// passUntil runs the erasures, 20 minutes apart, until an erasure has the given state.
func (w *archiveWorld) passUntil(id string, want erasures.State) {
	w.t.Helper()
	for range 5 {
		if _, err := w.Erasures.Run(w.t.Context()); err != nil {
			w.t.Fatal(err)
		}
		w.clock = w.clock.Add(20 * time.Minute)
		if r, err := w.Erasures.Get(w.t.Context(), id); err != nil || r.State == want {
			if err != nil {
				w.t.Fatal(err)
			}
			return
		}
	}
	w.t.Fatalf("the erasure has not reached the state %s", want)
}

// TestErasure_KeepsRollupsOfLaterReadings erases a device while one of its tables is on hold. The device
// sends for another year, and its tables are dropped. After the release of the hold, the roll-ups of
// all readings that arrived after the plan must still be there, and no others.
func TestErasure_KeepsRollupsOfLaterReadings(t *testing.T) {
	w := openDroppingWorld(t)
	held := tableOfOne(t, w.Engine, w.clock)
	w.clock = w.clock.Add(14 * day)
	w.send()
	w.aggregate()
	if err := w.Store.Hold(t.Context(), held, "trial"); err != nil {
		t.Fatal(err)
	}
	id := w.begin(erasures.Target{Tenant: varve.DefaultTenant, Device: "d", Window: varve.AllTime()})
	w.passUntil(id, erasures.Held)
	w.send() // on the day of the plan
	w.aggregate()
	const weeks = 52
	for range weeks {
		w.clock = w.clock.Add(7 * day)
		w.send()
		w.aggregate()
		w.run(0)
	}
	stored := int64(0)
	infos, err := w.Rotator.Tables(t.Context())
	for i := range infos {
		stored += infos[i].Readings
	}
	if err != nil || stored > weeks/2 || !exists(t, w.Engine, held) {
		t.Fatalf("%d readings are stored: %v", stored, err)
	}
	if hourly, daily := w.counted(); hourly != weeks+2 || daily != weeks+2 {
		t.Fatalf("before the release: %d and %d readings in roll-ups, want %d", hourly, daily, weeks+2)
	}
	if err := w.Store.Hold(t.Context(), held, ""); err != nil {
		t.Fatal(err)
	}
	w.passUntil(id, erasures.Done)
	for _, when := range []string{"dirty", "counted"} {
		if hourly, daily := w.counted(); hourly != weeks+1 || daily != weeks+1 {
			t.Errorf("%s: %d and %d readings in roll-ups, want %d", when, hourly, daily, weeks+1)
		}
		w.aggregate()
	}
}
