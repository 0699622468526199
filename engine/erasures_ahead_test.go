package engine_test

import (
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/erasures"
)

// TestErasedWindows_IncludeFastClocks erases a device, one of whose readings has an event time 20 hours after its
// arrival. The erased windows must include that time. So an agent does not resend the reading.
func TestErasedWindows_IncludeFastClocks(t *testing.T) {
	w := openArchiveWorld(t)
	of := varve.Series{Tenant: varve.DefaultTenant, Stream: "s", Device: "d"}
	ahead := w.clock.Add(20 * time.Hour)
	req, err := w.Router.Admit()
	if err != nil {
		t.Fatal(err)
	}
	list := []varve.Reading{{Series: of, Time: ahead, Fields: []varve.Field{{Name: "v", Value: varve.IntValue(1)}}}}
	err = req.Write(t.Context(), list, make([]varve.Verdict, 1))
	if req.Done(); err != nil {
		t.Fatal(err)
	}
	w.clock = w.clock.Add(time.Minute)
	target := erasures.Target{Tenant: varve.DefaultTenant, Device: "d", Window: varve.AllTime()}
	p, err := w.Erasures.Plan(t.Context(), target)
	if err != nil {
		t.Fatal(err)
	}
	if n, _ := p.Readings(); n != 1 {
		t.Fatalf("the plan has %d readings, want 1", n)
	}
	if _, err := w.Erasures.Begin(t.Context(), target, p.Digest(), ""); err != nil {
		t.Fatal(err)
	}
	windows, err := w.Erasures.ErasedWindows(t.Context(), of)
	if err != nil || len(windows) != 1 {
		t.Fatalf("%+v, %v", windows, err)
	}
	if !windows[0].To.After(ahead) || windows[0].To.After(w.clock.Add(25*time.Hour)) {
		t.Errorf("%+v, want an end from %s to 25 hours after the erasure", windows[0], ahead)
	}
}
