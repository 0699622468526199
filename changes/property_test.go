package changes_test

import (
	"flag"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/changes"
)

var (
	runs       = flag.Int("changes.runs", 1, "how often the random tests of changes run their checks")
	withinFlag = flag.Duration("within", 0, "time after which a test runs no further checks; 0 means no limit")
)

// repeatRuns calls check as often as the flag -changes.runs states, until the time of the flag -within has
// passed.
func repeatRuns(t *testing.T, check func()) {
	t.Helper()
	begin, done := time.Now(), 0
	for ; done < *runs && (*withinFlag <= 0 || time.Since(begin) < *withinFlag); done++ {
		check()
	}
	t.Logf("%d runs", done)
}

// TestChanges_AreTheWhole executes random steps. Writes stop at any stage, fail or are repeated.
// The clock jumps by months or is set back, and processes restart. Consumers read pages of any
// length. Together, the pages that a consumer reads must contain each acknowledged reading that it asks for
// exactly once.
func TestChanges_AreTheWhole(t *testing.T) {
	repeatRuns(t, func() {
		rapid.Check(t, func(t *rapid.T) {
			w := newWorld(t, nil)
			defer w.close()
			t.Repeat(map[string]func(*rapid.T){
				"send":    func(t *rapid.T) { w.sendSome(t, 0) },
				"begin":   func(t *rapid.T) { w.sendSome(t, rapid.SampledFrom([]stage{1, 2, 3, 4}).Draw(t, "stage")) },
				"release": w.releaseSome,
				"advance": w.advance,
				"restart": func(t *rapid.T) {
					if rapid.IntRange(0, 3).Draw(t, "restart") == 0 {
						w.restart()
					}
				},
				"poll": func(t *rapid.T) {
					c := rapid.SampledFrom(w.readers).Draw(t, "reader")
					w.poll(c, rapid.SampledFrom([]int{0, 1, 2, 7}).Draw(t, "limit"))
				},
				"check": func(t *rapid.T) { w.check(rapid.SampledFrom(w.readers).Draw(t, "reader")) },
			})
			w.finish(t)
		})
	})
}

// finish ends all writes, and checks all consumers and one that begins at a random time.
func (w *world) finish(t *rapid.T) {
	for len(w.flights) > 0 {
		w.releaseSome(t)
	}
	w.pass(20 * time.Minute)
	for _, c := range w.readers {
		w.check(c)
	}
	if len(w.acked) == 0 {
		return
	}
	since := w.clock.Add(-time.Duration(rapid.Int64Range(0, int64(lifetime)).Draw(t, "since")))
	fresh := &consumer{got: map[string]time.Time{}, cursor: changes.FromTime(since), since: since}
	w.check(fresh)
}

func (w *world) sendSome(t *rapid.T, at stage) {
	var list []varve.Reading
	for range rapid.IntRange(1, 6).Draw(t, "readings") {
		if n := len(w.made); n > 0 && rapid.IntRange(0, 3).Draw(t, "repeat") == 0 {
			r := w.made[rapid.IntRange(max(0, n-20), n-1).Draw(t, "which")]
			// Resend r only if the table of its first copy cannot be dropped yet. Otherwise r would count as new.
			if first, ok := w.store.stored[r.String()]; !ok || w.clock.Sub(first) < lifetime-24*time.Hour {
				list = append(list, r)
				continue
			}
		}
		ago := rapid.SampledFrom([]time.Duration{0, time.Second, 50 * time.Minute, 5 * time.Hour, 50 * 24 * time.Hour, 400 * 24 * time.Hour, -20 * time.Hour}).Draw(t, "ago")
		list = append(list, w.reading(rapid.SampledFrom(devices).Draw(t, "device"), w.clock.Add(-ago-time.Duration(len(w.made))*time.Millisecond)))
	}
	w.send(at, list...)
}

func (w *world) releaseSome(t *rapid.T) {
	if len(w.flights) == 0 {
		return
	}
	var err error
	if rapid.IntRange(0, 2).Draw(t, "fails") == 0 {
		err = errCut
		if w.shared && rapid.Bool().Draw(t, "late") {
			err = errLate
		}
	}
	w.release(rapid.IntRange(0, len(w.flights)-1).Draw(t, "flight"), err)
}

func (w *world) advance(t *rapid.T) {
	by := rapid.SampledFrom([]time.Duration{
		time.Millisecond, 100 * time.Millisecond, time.Second, 20 * time.Second, time.Minute, 7 * time.Minute, time.Hour, 30 * time.Hour, 20 * 24 * time.Hour,
		-time.Millisecond, -2 * time.Second, -4 * time.Minute,
	}).Draw(t, "by")
	if by < 0 && w.setBack+by < -9*time.Minute {
		return
	}
	w.pass(by)
	if w.setBack = min(w.setBack+by, 0); by > time.Hour {
		// Failures are visible in the events and the health of the rotator.
		_, _ = w.engine.Rotator.Run(t.Context())
	}
}
