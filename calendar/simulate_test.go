package calendar_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/varvedb/varve/calendar"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/retention"
	"github.com/varvedb/varve/rotator"
	"github.com/varvedb/varve/store"
)

func run(t *testing.T, o calendar.Options) calendar.Forecast {
	t.Helper()
	f, err := calendar.Simulate(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// tablesOf returns the tables of an arrival month. They are cold, and each has 100 readings.
func tablesOf(p rotator.Policy, m grid.Month) (infos []store.Info) {
	for _, r := range p.Grid.Ranges(m) {
		infos = append(infos, store.Info{
			Table: grid.Table{Prefix: "varve", Range: r, Month: m}, Status: store.Active, Owned: true, Tier: store.Cold, Readings: 100, Bytes: 1000,
		})
	}
	return infos
}

// TestSimulate_FollowsRules begins with expired tables of January. One table is on hold, and one belongs to
// another program. The forecast must retire and drop the others, although a run drops at most two tables.
func TestSimulate_FollowsRules(t *testing.T) {
	p := policyOf(7*day, true)
	p.MaxDrops = 2
	infos := tablesOf(p, grid.NewMonth(2026, time.January))
	infos[0].Hold, infos[1].Owned = "case 17", false
	f := run(t, calendar.Options{Policy: p, Now: november, Until: november.AddDate(0, 2, 0), Tables: infos})
	first, second := f.Months[0], f.Months[1]
	if first.Retired != len(infos)-2 || first.Dropped != len(infos)-2 || first.Tables != 2+first.Created {
		t.Errorf("November: %+v, want %d tables retired and dropped", first, len(infos)-2)
	}
	if first.Stored.Readings != 200 || first.Stored.Bytes != 2000 {
		t.Errorf("November: %+v stored, want the readings of two tables", first.Stored)
	}
	if second.Retired == 0 || second.Dropped == 0 || second.Tables < 2 {
		t.Errorf("December: %+v, want the tables of November to be retired and dropped", second)
	}
	p.Drop = false
	if f = run(t, calendar.Options{Policy: p, Now: november, Until: november.AddDate(0, 2, 0), Tables: infos}); f.Months[1].Dropped != 0 || f.Months[0].Retired == 0 {
		t.Errorf("without drops: %+v", f.Months)
	}
	again := slices.Clone(infos)
	p = policyOf(year, true)
	for i := range again {
		again[i].Retired = november.Add(-day)
	}
	if f = run(t, calendar.Options{Policy: p, Now: november, Until: november.AddDate(0, 1, 0), Tables: again}); f.Months[0].Restored != len(infos)-1 {
		t.Errorf("a longer retention: %+v, want all owned tables restored", f.Months[0])
	}
}

// TestSimulate_AddsLoad lets 1,000 readings a day arrive for four months under a retention of 10
// days. The number of stored readings must stop growing, and the arrivals of each month must be
// exact.
func TestSimulate_AddsLoad(t *testing.T) {
	daily := map[string]calendar.Load{retention.DefaultClass: {Readings: 1000, Bytes: 5000}}
	start := grid.NewMonth(2026, time.November).Start()
	f := run(t, calendar.Options{Policy: policyOf(10*day, true), Now: start, Until: start.AddDate(0, 4, 0), Daily: daily})
	for i, days := range []float64{30, 31, 31, 28} {
		if m := f.Months[i]; math.Abs(m.Arrived.Readings-days*1000) > 1 || math.Abs(m.Arrived.Bytes-days*5000) > 5 {
			t.Errorf("%s: %+v arrived, want %v days of 1000 readings", m.Month, m.Arrived, days)
		}
	}
	// Readings are deleted about half a day after they expire.
	if stored := f.Months[2].Stored.Readings; stored < 10_000 || stored > 11_000 {
		t.Errorf("%v readings stored at the end of January, want those of 10 days", stored)
	}
	if len(f.Months) != 4 {
		t.Errorf("%d months, want 4", len(f.Months))
	}
}

// TestDailyLoad_MeasuresPresentTables measures tables of this month and of the month before. Older tables
// must not count. The measurement must begin when the first table was created.
func TestDailyLoad_MeasuresPresentTables(t *testing.T) {
	p := policyOf(year, true)
	old, last, current := tablesOf(p, grid.NewMonth(2026, time.September)), tablesOf(p, grid.NewMonth(2026, time.October)), tablesOf(p, grid.NewMonth(2026, time.November))
	tables := float64(len(last) + len(current))
	all := slices.Concat(old, last, current)
	got := calendar.DailyLoad(p, 0, november, all)
	days := november.Sub(grid.NewMonth(2026, time.October).Start()).Hours() / 24
	if l := got[retention.DefaultClass]; math.Abs(l.Readings-100*tables/days) > 1e-6 || math.Abs(l.Bytes-1000*tables/days) > 1e-6 {
		t.Errorf("load %+v, want %v readings over %v days", l, 100*tables, days)
	}
	for i := range all {
		all[i].Created = november.Add(-48 * time.Hour)
	}
	if l := calendar.DailyLoad(p, 0, november, all)[retention.DefaultClass]; math.Abs(l.Readings-50*tables) > 1e-6 {
		t.Errorf("load %+v of tables that are two days old, want %v readings a day", l, 50*tables)
	}
	now := calendar.DailyLoad(p, 0, november, all)
	if l := now[retention.DefaultClass]; l.Measured != 48*time.Hour {
		t.Errorf("measured over %s, want two days", l.Measured)
	}
	calendar.Assume(now, retention.DefaultClass, 7)
	if l := now[retention.DefaultClass]; l.Readings != 7 || math.Abs(l.Bytes-70) > 1e-6 || l.Measured != 0 {
		t.Errorf("an assumed load is %+v, want 7 readings of 10 bytes", l)
	}
	if got := calendar.DailyLoad(p, 0, november, old); len(got) != 0 {
		t.Errorf("load %+v of old tables, want none", got)
	}
}

// TestReassign_MovesLoadOfMissingClasses gives a load of two classes to a policy with one of them. The
// default class must get the whole load.
func TestReassign_MovesLoadOfMissingClasses(t *testing.T) {
	daily := map[string]calendar.Load{"audit": {Readings: 5, Bytes: 50}, retention.DefaultClass: {Readings: 1, Bytes: 10}}
	got := calendar.Reassign(daily, policyOf(year, true).Retention)
	if len(got) != 1 || got[retention.DefaultClass] != (calendar.Load{Readings: 6, Bytes: 60}) {
		t.Errorf("%+v, want all of it in the default class", got)
	}
}

// TestCostOf_UsesListPrices computes the example of docs/benchmarks.md: 1,000 devices that report
// every minute send 43.8 million readings a month, for 27.40 dollars and 2.50 more for roll-ups.
func TestCostOf_UsesListPrices(t *testing.T) {
	m := calendar.Month{Created: 21, Tuned: 3, Arrived: calendar.Load{Readings: 43.8e6}}
	plain, with := calendar.ListPrices.CostOf(&m, false), calendar.ListPrices.CostOf(&m, true)
	if math.Abs(plain.Dollars-27.4) > 0.1 || math.Abs(with.Dollars-plain.Dollars-2.5) > 0.1 || plain.Requests != 43.8e6+24 {
		t.Errorf("costs %+v, with roll-ups %+v; want 27.40 and 2.50 dollars more", plain, with)
	}
	m = calendar.Month{Stored: calendar.Load{Bytes: 84 << 30}}
	if c := calendar.ListPrices.CostOf(&m, false); math.Abs(c.Dollars-21) > 0.01 {
		t.Errorf("84 GB cost %+v, want 21 dollars", c)
	}
}
