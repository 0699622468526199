package engine_test

import (
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/erasures"
)

// TestErasure_EndsWhileDeviceSends erases a device that still sends. The later readings must stay.
// The erasure must have the state Held while a table is on hold, and end in the state Done. While
// it is held, it must not delete a later registration of the device.
func TestErasure_EndsWhileDeviceSends(t *testing.T) {
	w := openArchiveWorld(t)
	table := tableOfOne(t, w.Engine, w.clock)
	if err := w.Store.Hold(t.Context(), table, "trial"); err != nil {
		t.Fatal(err)
	}
	target := erasures.Target{Tenant: varve.DefaultTenant, Device: "d", Window: varve.AllTime()}
	p, err := w.Erasures.Plan(t.Context(), target)
	if err != nil {
		t.Fatal(err)
	}
	r, err := w.Erasures.Begin(t.Context(), target, p.Digest(), "")
	if err != nil {
		t.Fatal(err)
	}
	pass := func() {
		t.Helper()
		if _, err := w.Erasures.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.clock = w.clock.Add(20 * time.Minute)
		w.send()
		if r, err = w.Erasures.Get(t.Context(), r.ID); err != nil {
			t.Fatal(err)
		}
	}
	pass()
	pass()
	if r.State != erasures.Held {
		t.Fatalf("%+v", r)
	}
	pass()
	if r.State != erasures.Held {
		t.Errorf("%+v", r)
	}
	if _, err := w.Devices.Get(t.Context(), varve.DefaultTenant, "d"); err != nil {
		t.Errorf("the later registration: %v", err)
	}
	if err := w.Store.Hold(t.Context(), table, ""); err != nil {
		t.Fatal(err)
	}
	pass()
	pass()
	if p, err = w.Erasures.Plan(t.Context(), target); err != nil || r.State != erasures.Done {
		t.Errorf("%+v, %v", r, err)
	}
	if n, _ := p.Readings(); n != 5 {
		t.Errorf("%d later readings, want 5", n)
	}
}

// send stores a reading that happens now.
func (w *archiveWorld) send() {
	w.t.Helper()
	q, err := w.Router.Admit()
	if err != nil {
		w.t.Fatal(err)
	}
	defer q.Done()
	list := []varve.Reading{{
		Series: varve.Series{Tenant: varve.DefaultTenant, Stream: "weather", Device: "d"}, Time: w.clock,
		Fields: []varve.Field{{Name: "v", Value: varve.IntValue(2)}},
	}}
	verdicts := make([]varve.Verdict, 1)
	if err := q.Write(w.t.Context(), list, verdicts); err != nil || verdicts[0].Outcome != varve.Stored {
		w.t.Fatal(err, verdicts)
	}
}
