package rotator_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/retention"
	"github.com/varvedb/varve/rotator"
)

// TestRun_DeletesExpiredReadings writes readings on the second day of a month and runs the rotator
// each hour. Expired readings must be deleted within a day after their retention and the grace, long
// before their table is retired. If the policy allows no drops, or the table is on hold, all
// readings must stay.
func TestRun_DeletesExpiredReadings(t *testing.T) {
	begin := time.Date(2026, 10, 2, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		reason     string
		drop, hold bool
		deleted    bool
	}{
		{"drops allowed", true, false, true},
		{"drops not allowed", false, false, false},
		{"on hold", true, true, false},
	} {
		t.Run(c.reason, func(t *testing.T) {
			w := newWorld(t, begin)
			w.start(rotator.Policy{
				Grid: grid.DefaultPolicy(), Drop: c.drop, Grace: 3 * day,
				Retention: &retention.Policy{
					Prefix:  "varve",
					Classes: []retention.Class{{Name: retention.DefaultClass, Retention: 30 * day}},
					Streams: map[string]retention.Stream{"brief": {Retention: 7 * day}},
				},
			})
			mustRun(t, w.rotator)
			w.write("brief", "a", begin.Add(-time.Hour), 1)
			w.write("weather", "a", begin.Add(-time.Hour), 2)
			if c.hold {
				for _, in := range w.tables() {
					if err := w.store.Hold(t.Context(), in.Table, "audit"); err != nil {
						t.Fatal(err)
					}
				}
			}
			stored := func() (n int64) {
				for _, in := range w.tables() {
					n += in.Readings
				}
				return n
			}
			gone := time.Time{}
			for hour := range 15 * 24 {
				w.clock = begin.Add(time.Duration(hour) * time.Hour)
				mustRun(t, w.rotator)
				if gone.IsZero() && stored() < 2 {
					gone = w.clock
				}
			}
			due := begin.Add(10 * day) // arrival, retention and grace
			if gone.IsZero() == c.deleted || c.deleted && (gone.Before(due) || gone.After(due.Add(day))) {
				t.Errorf("deleted on %s, due on %s", gone, due)
			}
			if got, _ := w.read("weather", "a"); len(got) != 1 {
				t.Errorf("%d of 1 readings that are not expired are left", len(got))
			}
		})
	}
}

// TestRun_ReportsFailedDeletion makes a deletion fail. The run must report the failure, and the next
// run must delete the readings.
func TestRun_ReportsFailedDeletion(t *testing.T) {
	begin := time.Date(2026, 10, 2, 12, 0, 0, 0, time.UTC)
	w := newWorld(t, begin)
	w.start(rotator.Policy{
		Grid: grid.DefaultPolicy(), Drop: true, Grace: 3 * day,
		Retention: &retention.Policy{Prefix: "varve", Classes: []retention.Class{{Name: retention.DefaultClass, Retention: 7 * day}}},
	})
	mustRun(t, w.rotator)
	w.write("weather", "a", begin.Add(-time.Hour), 1)
	w.runDaily(begin.Add(9 * day))
	w.clock = begin.Add(11 * day)
	broken := errors.New("the disk is broken")
	w.store.before = func(op string, _ grid.Table) error {
		if op == "expire" {
			return broken
		}
		return nil
	}
	if _, err := w.rotator.Run(t.Context()); !errors.Is(err, broken) {
		t.Errorf("the run returned %v", err)
	}
	w.store.before = nil
	mustRun(t, w.rotator)
	for _, in := range w.tables() {
		if in.Readings > 0 {
			t.Errorf("%s has %d readings", in.Table, in.Readings)
		}
	}
}

// runDaily runs the rotator once a day until a time, and then at that time.
func (w *world) runDaily(until time.Time) {
	w.t.Helper()
	for w.clock.Before(until) {
		w.clock = w.clock.Add(day)
		if _, err := w.rotator.Run(w.t.Context()); err != nil {
			w.t.Fatal(err)
		}
	}
}

// keeps returns a policy with drops, 5 days of grace and a retention.
func keeps(d time.Duration) rotator.Policy {
	return rotator.Policy{
		Grid: grid.DefaultPolicy(), Drop: true, Grace: 5 * day,
		Retention: &retention.Policy{Prefix: "varve", Classes: []retention.Class{{Name: retention.DefaultClass, Retention: d}}},
	}
}

// TestRun_KeepsReadingsAfterChange starts a process with a retention that is too short, or sets the
// clock forward. If that is corrected within the grace, no reading may be deleted. If it is not,
// the readings must be deleted after the grace.
func TestRun_KeepsReadingsAfterChange(t *testing.T) {
	begin := time.Date(2026, 10, 2, 12, 0, 0, 0, time.UTC)
	wrongly := map[string]func(*world){
		"a retention that is too short": func(w *world) { w.start(keeps(day)) },
		"a clock that is ahead":         func(w *world) { w.clock = w.clock.Add(50 * day) },
	}
	for reason, change := range wrongly {
		for _, c := range []struct {
			days int // until the correction
			left int
		}{{0, 1}, {4, 1}, {7, 0}} {
			t.Run(fmt.Sprintf("%s for %d days", reason, c.days), func(t *testing.T) {
				w := newWorld(t, begin)
				w.start(keeps(60 * day))
				mustRun(t, w.rotator)
				w.write("weather", "a", begin.Add(-time.Hour), 1)
				w.runDaily(begin.Add(15 * day))
				before := w.clock
				change(w)
				moved := w.clock.Sub(before)
				mustRun(t, w.rotator)
				w.runDaily(w.clock.Add(time.Duration(c.days) * day))
				w.clock = w.clock.Add(-moved)
				w.start(keeps(60 * day))
				mustRun(t, w.rotator)
				if got, _ := w.read("weather", "a"); len(got) != c.left {
					t.Errorf("%d readings are left, want %d", len(got), c.left)
				}
			})
		}
	}
}
