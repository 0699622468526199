package rollup_test

import (
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/router"
	"github.com/varvedb/varve/streams"
)

// TestRebuild: what was written while nothing was marked is not counted, until
// it is rebuilt; what was counted stays as it is.
func TestRebuild(t *testing.T) {
	w := newWorld(t)
	marked := w.routers[0]
	unmarked := router.New(router.Options{
		Writer: w.store, Creator: w.store, Streams: streams.New(w.store, w.now), Policy: w.policy, Grid: w.grid, Now: w.now,
	})
	series := w.reading("a", w.clock).Series
	w.send(0, nil, w.reading("a", w.clock), w.reading("b/c", w.clock))
	w.clock = w.clock.Add(3 * time.Hour)
	(&steps{world: w}).finish()
	w.check("before")
	w.routers[0] = unmarked
	for _, ago := range []time.Duration{0, time.Minute, 4 * time.Hour, 30 * time.Hour, 30*time.Hour + time.Minute} {
		w.send(0, nil, w.reading("a", w.clock.Add(-ago)))
	}
	w.routers[0] = marked
	window := varve.Window{From: w.clock.Add(-24 * time.Hour), To: w.clock.Add(time.Hour)}
	if n, err := w.worker(0).Rebuild(t.Context(), series, window); err != nil || n < 2 {
		t.Errorf("%d marked, %v", n, err)
	}
	if n, err := w.worker(0).Rebuild(t.Context(), series, varve.AllTime()); err != nil || n < 2 {
		t.Errorf("%d marked, %v", n, err)
	}
	w.check("rebuilt")
	w.clock = w.clock.Add(3 * time.Hour)
	(&steps{world: w}).finish()
	w.check("at rest")
	w.atRest()
	if n, err := w.worker(0).Rebuild(t.Context(), series, varve.AllTime()); err != nil || n != 0 {
		t.Errorf("%d marked of what is there, %v", n, err)
	}
}
