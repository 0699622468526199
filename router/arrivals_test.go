package router_test

import (
	"context"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/router"
)

// TestRouter_SettlesAfterWatch checks that an arrival is not settled before Watch has returned.
// Watch registers devices, and an export must find the devices of all settled readings.
func TestRouter_SettlesAfterWatch(t *testing.T) {
	var r *router.Router
	watched := false
	w := newWorld(func(o *router.Options) {
		o.Watch = func(_ context.Context, _ time.Time, readings []varve.Reading, _ []varve.Verdict) error {
			if at, _ := r.Settled(); at.After(readings[0].Arrived) {
				t.Errorf("arrival %s is settled at %s", readings[0].Arrived, at)
			}
			watched = true
			return nil
		}
	})
	r = w.Router
	if got := words(w.send(t, reading("weather", noon, 1))); got != "stored" || !watched {
		t.Fatalf("%s, watched: %t", got, watched)
	}
	w.mu.Lock()
	w.now = w.now.Add(time.Second)
	w.mu.Unlock()
	if at, _ := r.Settled(); !at.After(noon) {
		t.Errorf("after the write, settled is %s", at)
	}
}
