package rejects_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/rejects"
)

// TestFind_PrefersEventTime checks that the reject with the event time explains a missing reading.
// If no such reject exists, rejects without a readable time explain it, if they arrived up to an
// hour later.
func TestFind_PrefersEventTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		begin := time.Now()
		at := begin.Add(48 * time.Hour)
		exact, unread, other, late := reject("exact"), reject("unread"), reject("other"), reject("late")
		exact.Time, other.Device = at, "d2"
		late.First = begin.Add(3 * time.Hour)
		if _, err := w.Add(t.Context(), []rejects.Reject{exact, unread, other, late}); err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			name   string
			stream string
			from   time.Time
			want   string
		}{
			{"event time", "weather", at, "exact"},
			{"event time in any stream", "", at, "exact"},
			{"arrival half an hour later", "weather", begin.Add(-30 * time.Minute), "unread"},
			{"arrival two hours later", "weather", begin.Add(-2 * time.Hour), ""},
			{"another stream", "indoor", at, ""},
		} {
			found, err := w.Find(t.Context(), varve.Series{Tenant: "acme", Stream: c.stream, Device: "d"}, varve.Window{From: c.from, To: c.from.Add(time.Second)})
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			for _, r := range found {
				got += r.Text
			}
			if got != c.want {
				t.Errorf("%s: %q, want %q", c.name, got, c.want)
			}
		}
	})
}
