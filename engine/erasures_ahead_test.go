package engine_test

import (
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/erasures"
)

// TestErasedWindows_IncludeFastClocks erases a device. One of its readings has an event time 20 hours after the
// arrival of the reading. The erased windows must include that time. Otherwise, an agent would resend the reading.
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

// TestErasedWindows_AreOfOneSeries erases one stream of a device, and then another device. The windows of a
// series must come only from erasures of its tenant, device and stream.
func TestErasedWindows_AreOfOneSeries(t *testing.T) {
	w := openArchiveWorld(t)
	hour := w.clock.Truncate(time.Hour)
	window := varve.Window{From: hour.Add(-3 * time.Hour), To: hour.Add(-time.Hour)}
	for _, target := range []erasures.Target{
		{Tenant: varve.DefaultTenant, Device: "d", Stream: "s", Window: window},
		{Tenant: varve.DefaultTenant, Device: "e", Window: window},
	} {
		p, err := w.Erasures.Plan(t.Context(), target)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Erasures.Begin(t.Context(), target, p.Digest(), ""); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		series varve.Series
		want   int
	}{
		{varve.Series{Tenant: varve.DefaultTenant, Stream: "s", Device: "d"}, 1},
		{varve.Series{Tenant: varve.DefaultTenant, Stream: "other", Device: "d"}, 0},
		{varve.Series{Tenant: varve.DefaultTenant, Stream: "s", Device: "e"}, 1},
		{varve.Series{Tenant: varve.DefaultTenant, Stream: "other", Device: "e"}, 1},
		{varve.Series{Tenant: varve.DefaultTenant, Stream: "s", Device: "f"}, 0},
		{varve.Series{Tenant: "other", Stream: "s", Device: "d"}, 0},
	} {
		windows, err := w.Erasures.ErasedWindows(t.Context(), c.series)
		if err != nil || len(windows) != c.want {
			t.Fatalf("%s: %+v, %v, want %d windows", c.series, windows, err, c.want)
		}
		for _, got := range windows {
			if !got.From.Equal(window.From) || !got.To.Equal(window.To) {
				t.Errorf("%s: %+v, want %+v", c.series, got, window)
			}
		}
	}
}
