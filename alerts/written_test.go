package alerts_test

import (
	"strings"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/alerts"
)

// TestObserve_ReadsNoReadingsBetweenDistantReadings sends an old and a new reading in one write. The
// readings between them must not be read, whether or not an alert is open.
func TestObserve_ReadsNoReadingsBetweenDistantReadings(t *testing.T) {
	const count, every = 5000, 10
	for _, c := range []struct {
		reason string
		change []func(*alerts.Options)
	}{
		{"items of their own", nil},
		{"atomic writes", []func(*alerts.Options){atomically}},
	} {
		w := newWorld(t, c.change...)
		w.rule(gapped(5, 0, 0))
		for i := range count {
			w.store([]varve.Reading{valued(i*every, 1)})
		}
		w.advance(count * every * time.Second)
		w.send(valued(count*every, 9))
		w.send(valued(count*every+1, 1))
		before := w.read
		w.send(valued(-2*86400, 1), valued(count*every+2, 9))
		if got := w.read - before; got > 10 {
			t.Errorf("%s: %d readings are read, at most 10", c.reason, got)
		}
		w.send(valued(-2*86400-1, 9), valued(count*every+3, 1))
		if got, want := strings.ReplaceAll(w.summary(), "L", ""), "-172801--172801--172800 50000-50000-50001 50002-50002-50003"; got != want {
			t.Errorf("%s: %s, want %s", c.reason, got, want)
		}
	}
}
