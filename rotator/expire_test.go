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
// each hour. Expired readings must be deleted within a day, long before their table is retired. If
// the policy allows no drops, or only drops of archived tables, or the table is on hold, all
// readings must stay. Readings that roll-ups may recount must stay until roll-ups no longer need
// them.
func TestRun_DeletesExpiredReadings(t *testing.T) {
	begin := time.Date(2026, 10, 2, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		reason               string
		drop, hold, archived bool
		deleted              bool
		due                  int // days from the arrival of the reading to its deletion
	}{
		{"drops allowed", true, false, false, true, 7},
		{"recounts for 9 days", true, false, false, true, 9},
		{"in use for 11 days", true, false, false, true, 11},
		{"drops not allowed", false, false, false, false, 0},
		{"on hold", true, true, false, false, 0},
		{"only archived tables", true, false, true, false, 0},
	} {
		t.Run(c.reason, func(t *testing.T) {
			w := newWorld(t, begin)
			p := rotator.Policy{
				Grid: grid.DefaultPolicy(), Drop: c.drop, ArchiveFirst: c.archived, Grace: 3 * day,
				Retention: &retention.Policy{
					Prefix:  "varve",
					Classes: []retention.Class{{Name: retention.DefaultClass, Retention: 30 * day}},
					Streams: map[string]retention.Stream{"brief": {Retention: 7 * day}},
				},
			}
			switch c.due {
			case 9:
				p.RecountGrace = 9 * day
			case 11:
				w.inUse = func(time.Time) bool { return w.clock.Before(begin.Add(11 * day)) }
			}
			w.start(p)
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
			promised := w.checkPromises(t, begin, max(7*day, p.RecountGrace), c.deleted)
			gone := w.runUntilFewer(begin, 2)
			due := begin.Add(time.Duration(c.due) * day)
			if gone.IsZero() == c.deleted || c.deleted && (gone.Before(due) || gone.After(due.Add(day))) {
				t.Errorf("deleted on %s, due on %s", gone, due)
			}
			if c.deleted && w.inUse == nil && gone.After(promised) {
				t.Errorf("deleted on %s, after the promise of %s", gone, promised)
			}
			if got, _ := w.read("weather", "a"); len(got) != 1 {
				t.Errorf("%d of 1 readings that are not expired are left", len(got))
			}
		})
	}
}

// runUntilFewer runs the rotator each hour for 15 days. It returns the time of the first run after
// which fewer readings than the given number were stored. If the number never falls below it, that
// time is zero.
func (w *world) runUntilFewer(begin time.Time, than int64) (gone time.Time) {
	w.t.Helper()
	for hour := range 15 * 24 {
		w.clock = begin.Add(time.Duration(hour) * time.Hour)
		mustRun(w.t, w.rotator)
		stored := int64(0)
		for _, in := range w.tables() {
			stored += in.Readings
		}
		if gone.IsZero() && stored < than {
			gone = w.clock
		}
	}
	return gone
}

// checkPromises checks the times of deletion that DeletesAt returns. If nothing may be deleted,
// these times must be zero. checkPromises returns the time for the stream brief.
func (w *world) checkPromises(t *testing.T, begin time.Time, kept time.Duration, deleted bool) time.Time {
	t.Helper()
	table := w.tables()[0]
	promised := w.rotator.DeletesAt(&table, "brief", begin)
	if due := begin.Add(kept + day); deleted && !promised.Equal(due) || !deleted && !promised.IsZero() {
		t.Errorf("it promises %s, want %s, or never if nothing may be deleted", promised, due)
	}
	due := w.rotator.Policy().ScheduleOf(&table).Drops
	if got := w.rotator.DeletesAt(&table, "weather", begin.Add(31*day)); deleted && !got.Equal(due) {
		t.Errorf("the last reading of a table is deleted on %s, want its drop on %s", got, due)
	}
	return promised
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
	w.runDaily(begin.Add(6 * day))
	w.clock = begin.Add(8 * day)
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

// keeps returns a policy with drops, 5 days of grace and the given retention.
func keeps(d time.Duration) rotator.Policy {
	return rotator.Policy{
		Grid: grid.DefaultPolicy(), Drop: true, Grace: 5 * day,
		Retention: &retention.Policy{Prefix: "varve", Classes: []retention.Class{{Name: retention.DefaultClass, Retention: d}}},
	}
}

// TestRun_KeepsReadingsAfterChange starts a process with a retention that is too short, or sets the
// clock forward. If the mistake is corrected within the grace, no reading may be deleted.
// Otherwise, the readings must be deleted after the grace.
func TestRun_KeepsReadingsAfterChange(t *testing.T) {
	begin := time.Date(2026, 10, 2, 12, 0, 0, 0, time.UTC)
	wrongly := map[string]func(*world){
		"a retention that is too short": func(w *world) { w.start(keeps(day)) },
		"a clock that is ahead":         func(w *world) { w.clock = w.clock.Add(50 * day) },
	}
	for reason, change := range wrongly {
		for _, c := range []struct {
			days int // days from the mistake to its correction
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

// TestRun_KeepsReadingsAfterPrefixChange moves tables of a class with a long retention to the default class
// by changing the prefix. Their readings may be deleted only when Policy.Grace has passed since the first
// rotation with the new prefix.
func TestRun_KeepsReadingsAfterPrefixChange(t *testing.T) {
	begin := time.Date(2026, 10, 2, 12, 0, 0, 0, time.UTC)
	p := keeps(10 * day)
	p.Retention.Classes = append(p.Retention.Classes, retention.Class{Name: "audit", Retention: 600 * day})
	p.Retention.Streams = map[string]retention.Stream{"weather": {Class: "audit"}}
	w := newWorld(t, begin)
	w.start(p)
	mustRun(t, w.rotator)
	w.write("weather", "a", begin.Add(-time.Hour), 1)
	w.runDaily(begin.Add(12 * day))
	wrong := keeps(10 * day)
	wrong.Retention.Prefix = p.Retention.TablePrefix("audit")
	wrong.Retention.Classes, wrong.Retention.Streams = p.Retention.Classes, p.Retention.Streams
	w.start(wrong)
	for range 2 {
		w.runDaily(w.clock.Add(2 * day))
		if n := storedReadings(w); n != 1 {
			t.Fatalf("%d readings are stored at %s, want 1", n, w.clock)
		}
	}
	w.runDaily(w.clock.Add(4 * day))
	if n := storedReadings(w); n != 0 {
		t.Errorf("%d readings are stored after the grace, want 0", n)
	}
}

func storedReadings(w *world) (n int64) {
	for _, in := range w.tables() {
		n += in.Readings
	}
	return n
}

// TestRun_DeletesAfterLongerRetention lengthens the retention of a class and of a stream just before
// readings of another stream expire. No reading can expire earlier, so deletions must not wait.
func TestRun_DeletesAfterLongerRetention(t *testing.T) {
	begin := time.Date(2026, 10, 2, 12, 0, 0, 0, time.UTC)
	p := keeps(60 * day)
	p.Retention.Streams = map[string]retention.Stream{"brief": {Retention: 10 * day}, "other": {Retention: 20 * day}}
	w := newWorld(t, begin)
	w.start(p)
	mustRun(t, w.rotator)
	w.write("brief", "a", begin.Add(-time.Hour), 1)
	w.runDaily(begin.Add(9 * day))
	longer := keeps(90 * day)
	longer.Retention.Streams = map[string]retention.Stream{"brief": {Retention: 10 * day}, "other": {Retention: 30 * day}}
	w.start(longer)
	w.runDaily(begin.Add(11 * day))
	for _, in := range w.tables() {
		if in.Readings > 0 {
			t.Errorf("%s has %d readings a day after they expired", in.Table, in.Readings)
		}
	}
}

// TestRun_DistrustsClock sets the clock two days forward, runs the rotator twice, and sets the
// clock back. Only readings that expire within about a day of the previous run may be deleted.
func TestRun_DistrustsClock(t *testing.T) {
	begin := time.Date(2026, 10, 2, 12, 0, 0, 0, time.UTC)
	w := newWorld(t, begin)
	w.start(keeps(12 * day))
	mustRun(t, w.rotator)
	w.write("weather", "a", begin, 1)
	w.runDaily(begin.Add(10 * day))
	w.clock = begin.Add(12*day + time.Hour)
	mustRun(t, w.rotator)
	w.start(keeps(12 * day)) // a second process must not confirm the clock
	w.clock = begin.Add(12*day + 2*time.Hour)
	mustRun(t, w.rotator)
	w.clock = begin.Add(10*day + time.Hour)
	if got, _ := w.read("weather", "a"); len(got) != 1 {
		t.Error("a run with a wrong clock deleted a reading of the next two days")
	}
	w.runDaily(begin.Add(18 * day)) // the clock was set back, so deletions wait for the grace
	for _, in := range w.tables() {
		if in.Readings > 0 {
			t.Errorf("%s has %d readings", in.Table, in.Readings)
		}
	}
}
