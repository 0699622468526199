package alerts_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/varvedb/varve/alerts"
)

// editStream changes the stream of a rule.
func (w *world) editStream(r alerts.Rule, stream string) {
	w.t.Helper()
	r.Stream = stream
	_, err := w.EditRule(w.t.Context(), r)
	must(w.t, err)
}

// TestEditRule_FindsEarlierSilence lets a device report once to a stream, before a deadman rule on another
// stream is edited to apply to it. The last arrival is only in the tables, and the rule must open an alert
// for the silence since then.
func TestEditRule_FindsEarlierSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		r := silent("", 10*time.Minute)
		r.Stream = "other"
		r = w.rule(r)
		got := w.checks(70, func(minute int) {
			switch minute {
			case 30:
				w.send(reading("d", w.now()))
			case 60:
				w.editStream(r, "weather")
			}
		})
		if want := "61: 30-40-"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

// TestEditRule_IgnoresOutdatedLastSeen edits a deadman rule to apply to another stream, and back. The
// device reports all the time, but its last-seen time was not recorded meanwhile. No alert may open.
func TestEditRule_IgnoresOutdatedLastSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		r := w.rule(silent("", time.Hour))
		got := w.checks(400, func(minute int) {
			if minute%20 == 0 {
				w.send(reading("d", w.now()))
			}
			switch minute {
			case 50:
				w.editStream(r, "other")
			case 290:
				w.editStream(r, "weather")
			}
		})
		if got != "" {
			t.Errorf("got %q, want no alert", got)
		}
	})
}
