package rollup_test

import (
	"context"
	"math/big"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/rollup"
)

func (w *world) rebuild(device string, window varve.Window) (marked, left int) {
	w.t.Helper()
	marked, left, err := w.aggregator(0).Rebuild(context.Background(), varve.Series{Tenant: "acme", Stream: "weather", Device: device}, window)
	if err != nil {
		w.t.Fatalf("%v", err)
	}
	return marked, left
}

// TestRebuild_MarksUnmarkedWrites writes readings while roll-ups are off. After a rebuild, roll-ups
// must include these readings. Once they are counted, another rebuild must mark nothing.
func TestRebuild_MarksUnmarkedWrites(t *testing.T) {
	w := newWorld(t)
	w.send(0, nil, w.reading("a", w.clock), w.reading("b/c", w.clock))
	w.clock = w.clock.Add(3 * time.Hour)
	(&steps{world: w}).finish()
	w.check("before")
	w.setRollups(false)
	for _, ago := range []time.Duration{0, time.Minute, 4 * time.Hour, 30 * time.Hour, 30*time.Hour + time.Minute} {
		w.send(0, nil, w.reading("a", w.clock.Add(-ago)))
	}
	w.setRollups(true)
	window := varve.Window{From: w.clock.Add(-24 * time.Hour), To: w.clock.Add(time.Hour)}
	if n, left := w.rebuild("a", window); n < 2 || left != 0 {
		t.Errorf("%d marked, %d left", n, left)
	}
	if n, left := w.rebuild("a", varve.AllTime()); n < 2 || left != 0 {
		t.Errorf("%d marked, %d left", n, left)
	}
	w.check("rebuilt")
	w.clock = w.clock.Add(3 * time.Hour)
	(&steps{world: w}).finish()
	w.check("at rest")
	w.checkStored()
	if n, left := w.rebuild("a", varve.AllTime()); n != 0 || left != 0 {
		t.Errorf("%d marked of what is there, %d left", n, left)
	}
}

// TestRebuild_MarksCountedHour writes to an hour with a stored partial while roll-ups are off. A
// rebuild must mark the hour as dirty, even if the window includes only a part of it.
func TestRebuild_MarksCountedHour(t *testing.T) {
	w := newWorld(t)
	w.clock = w.clock.Add(-12 * time.Hour)
	hour := w.clock
	w.send(0, nil, w.reading("a", hour), w.reading("a", hour.Add(time.Second)))
	w.clock = w.clock.Add(3 * time.Hour)
	(&steps{world: w}).finish()
	w.setRollups(false)
	late := w.reading("a", hour.Add(time.Minute))
	w.send(0, nil, late)
	w.setRollups(true)
	if c := w.model[key(&late)].copies[0]; c.Arrived.YearDay() != hour.YearDay() {
		t.Fatalf("the test is ineffective: it arrived at %s", c.Arrived)
	}
	if n, left := w.rebuild("a", varve.Window{From: hour.Add(30 * time.Minute), To: hour.Add(31 * time.Minute)}); n != 1 || left != 0 {
		t.Errorf("%d marked, %d left", n, left)
	}
	w.check("rebuilt")
	w.clock = w.clock.Add(3 * time.Hour)
	(&steps{world: w}).finish()
	w.check("at rest")
	w.checkStored()
}

// TestRebuild_SkipsCopiesOfDroppedReading counts a reading in November, and resends it in
// December while roll-ups are off. The table of the first copy is dropped. A rebuild must not
// count the second copy.
func TestRebuild_SkipsCopiesOfDroppedReading(t *testing.T) {
	m := endOfMonth(t)
	r := m.reading("a", m.clock)
	m.send(0, nil, r)
	first := m.model[key(&r)].tables[0]
	m.clock = m.clock.Add(3 * time.Hour)
	m.finish()
	m.setRollups(false)
	m.send(0, nil, r)
	m.setRollups(true)
	m.dropOf(first)
	if c := m.model[key(&r)]; len(c.tables) != 2 || !m.tableExists(c.tables[1]) {
		t.Fatalf("the test is ineffective: %v", c.tables)
	}
	m.check("before")
	if n, left := m.rebuild("a", varve.AllTime()); n != 0 || left != 0 {
		t.Errorf("%d marked, %d left", n, left)
	}
	m.check("rebuilt")
	m.checkStored()
}

// TestRebuild_SkipsCopiesWithoutOriginal drops the table of first copies. A rebuild must not
// count the copies that remain.
func TestRebuild_SkipsCopiesWithoutOriginal(t *testing.T) {
	m := endOfMonth(t)
	r := m.reading("a", m.clock)
	m.send(0, nil, r)
	m.clock = m.clock.Add(12 * time.Hour)
	m.send(0, nil, r)
	tables := m.model[key(&r)].tables
	m.dropOf(tables[0])
	if len(tables) != 2 || !m.tableExists(tables[1]) {
		t.Fatalf("the test is ineffective: %v", tables)
	}
	if n, left := m.rebuild("a", varve.AllTime()); n != 0 || left != 0 {
		t.Errorf("%d marked, %d left", n, left)
	}
	m.check("rebuilt")
	m.checkStored()
}

// TestRebuild_TableDroppedMeanwhile drops a table after a rebuild has marked one of its hours as
// dirty. The roll-ups of the hour and its day must not change.
func TestRebuild_TableDroppedMeanwhile(t *testing.T) {
	w := newWorld(t)
	w.clock = w.clock.Add(-12 * time.Hour)
	hour := w.clock
	w.send(0, nil, w.reading("a", hour), w.reading("a", hour.Add(-time.Hour)))
	w.clock = w.clock.Add(3 * time.Hour)
	(&steps{world: w}).finish()
	w.setRollups(false)
	late := w.reading("a", hour.Add(time.Minute))
	w.send(0, nil, late)
	w.setRollups(true)
	if n, left := w.rebuild("a", varve.AllTime()); n != 1 || left != 0 {
		t.Errorf("%d marked, %d left", n, left)
	}
	table := w.model[key(&late)].tables[0]
	if err := w.store.Retire(t.Context(), table, w.clock); err != nil {
		t.Fatal(err)
	}
	if err := w.store.Drop(t.Context(), table); err != nil {
		t.Fatal(err)
	}
	w.clock = w.clock.Add(3 * time.Hour)
	(&steps{world: w}).finish()
	delete(w.model, key(&late))
	w.check("gone")
	w.checkStored()
}

func (m *steps) dropOf(table grid.Table) {
	for m.tableExists(table) {
		m.clock = m.clock.Add(24 * time.Hour)
		m.finish()
		m.rotate()
	}
}

// TestRebuild_SkipsMovedReading counts a reading in December. While roll-ups are off, a copy is
// stored that arrived in November. A rebuild must not count the reading on both days.
func TestRebuild_SkipsMovedReading(t *testing.T) {
	m := endOfMonth(t)
	r := m.reading("a", m.clock.Add(-time.Minute))
	m.setRollups(false)
	m.send(0, func() {
		m.clock = m.clock.Add(30 * time.Minute)
		m.setRollups(true)
		m.send(2, nil, r)
		m.clock = m.clock.Add(3 * time.Hour)
		m.finish()
	}, r)
	if c := m.model[key(&r)]; len(c.tables) != 2 {
		t.Fatalf("the test is ineffective: %v", c.tables)
	}
	if n, left := m.rebuild("a", varve.AllTime()); n != 0 || left != 1 {
		t.Errorf("%d marked, %d left", n, left)
	}
	for _, p := range []rollup.Period{rollup.Hourly, rollup.Daily} {
		if got := m.read("a", p, 0); len(got) != 1 || got[0].Readings != 1 {
			t.Errorf("%s: %+v", p, got)
		}
	}
}

// TestRebuild_NeverLosesOrRepeats executes random writes, drops and rebuilds, with roll-ups on
// and off. A rebuild must neither lose readings nor count them twice. Until a table is dropped,
// roll-ups must be exact after a rebuild.
func TestRebuild_NeverLosesOrRepeats(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		w.clock = time.Date(2026, 11, 30, 20, 0, 0, 0, time.UTC)
		m := &steps{world: w}
		t.Repeat(map[string]func(*rapid.T){
			"send":    m.sendSome,
			"weeks":   func(*rapid.T) { m.passWeeks() },
			"turn":    func(t *rapid.T) { w.setRollups(rapid.Bool().Draw(t, "on")) },
			"advance": m.advance,
			"work":    m.aggregateSkewed,
			"rotate":  func(*rapid.T) { w.rotate() },
			"rebuild": func(*rapid.T) { m.rebuildAll() },
		})
		m.rebuildAll()
	})
}

// passWeeks lets time pass until tables are dropped.
func (m *steps) passWeeks() {
	for range 6 {
		m.clock = m.clock.Add(48 * time.Hour)
		m.finish()
		m.rotate()
	}
}

func (m *steps) rebuildAll() {
	whole := true
	for _, c := range m.model {
		whole = whole && !slices.ContainsFunc(c.tables, func(t grid.Table) bool { return !m.tableExists(t) })
	}
	periods := []rollup.Period{rollup.Hourly, rollup.Daily}
	before := map[string]map[int64]*big.Int{}
	for _, device := range devices {
		for _, p := range periods {
			before[device+p.String()] = numbers(m.read(device, p, 0))
		}
		if _, left := m.rebuild(device, varve.AllTime()); whole && left > 0 {
			m.t.Fatalf("%d hours of %s are left", left, device)
		}
	}
	for _, what := range []string{"rebuilt", "rebuilt, at rest"} {
		for _, device := range devices {
			for _, p := range periods {
				m.checkBetween(what+": "+p.String()+" of "+device, before[device+p.String()], m.read(device, p, 0), m.expected(device, p))
			}
		}
		if whole {
			m.check(what)
		}
		m.clock = m.clock.Add(3 * time.Hour)
		m.finish()
	}
	if whole {
		m.checkStored()
	}
}

// checkBetween checks that roll-ups have all readings of the sums in "before", and only readings
// that are in "most".
func (m *steps) checkBetween(what string, before map[int64]*big.Int, got []rollup.Rollup, most map[int64][]varve.Reading) {
	found, all := numbers(got), sums(most)
	for at, sum := range before {
		if !within(sum, found[at]) {
			m.t.Fatalf("%s at %d: %s, before %s\n%s", what, at, found[at], sum, m.dump())
		}
	}
	for _, r := range got {
		at := r.Start.Unix()
		if !within(found[at], all[at]) || r.Readings > int64(len(most[at])) {
			m.t.Fatalf("%s at %d: %d, %s; a recount gives %d, %s\n%s", what, at, r.Readings, found[at], len(most[at]), all[at], m.dump())
		}
	}
}
