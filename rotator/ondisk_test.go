package rotator_test

import (
	"testing"
	"time"

	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/retention"
	"github.com/varvedb/varve/rotator"
	"github.com/varvedb/varve/store"
)

// TestScheduleOf_BoundsTimeOnDisk computes the longest time for which a reading is on disk, at a
// retention of 7 days and the default settings. docs/operations.md has these figures. The reading
// arrives when a month of 31 days begins. It must stay for 31 days until the end of the month, 2 days of
// margin, 7 days of retention, and 7 days of grace.
func TestScheduleOf_BoundsTimeOnDisk(t *testing.T) {
	p := rotator.Policy{
		Grid: grid.DefaultPolicy(), Drop: true, RecountGrace: 3 * day,
		Retention: &retention.Policy{Prefix: "v", Classes: []retention.Class{{Name: retention.DefaultClass, Retention: 7 * day}}},
	}.WithDefaults()
	later := func(a, b time.Time) time.Time {
		if b.After(a) {
			return b
		}
		return a
	}
	var longest, expired time.Duration
	for m := grid.NewMonth(2026, time.January); m < grid.NewMonth(2036, time.January); m++ {
		for _, r := range p.Grid.Ranges(m) {
			in := store.Info{Table: grid.Table{Prefix: "v", Range: r, Month: m}, Owned: true}
			drops := p.ScheduleOf(&in).Drops
			begin := time.Unix(r.Start, 0)
			arrives := later(m.Start(), begin.Add(-p.Grid.Future)) // arrival of the first reading of the table
			longest = max(longest, drops.Sub(arrives))
			expired = max(expired, drops.Sub(later(arrives, begin).Add(7*day)))
		}
	}
	if longest != 47*day || expired != 40*day {
		t.Errorf("a reading is on disk for up to %s, and %s after it expired; want 47 and 40 days", longest, expired)
	}
	november := store.Info{Table: grid.Table{Prefix: "v", Range: p.Grid.Ranges(grid.NewMonth(2026, time.November))[0], Month: grid.NewMonth(2026, time.November)}, Owned: true}
	if d := p.ScheduleOf(&november).Drops.Sub(november.Month.Start()); d != 46*day {
		t.Errorf("a reading of 1 November is on disk for %s, want 46 days: November has 30", d)
	}
}
