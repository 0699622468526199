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

// rebuild has the hours of a device counted that are behind.
func (w *world) rebuild(device string, window varve.Window) (marked, left int) {
	w.t.Helper()
	marked, left, err := w.worker(0).Rebuild(context.Background(), varve.Series{Tenant: "acme", Stream: "weather", Device: device}, window)
	if err != nil {
		w.t.Fatalf("%v", err)
	}
	return marked, left
}

// TestRebuild: what was written while nothing was marked is not counted, until
// it is rebuilt; what was counted stays as it is.
func TestRebuild(t *testing.T) {
	w := newWorld(t)
	w.send(0, nil, w.reading("a", w.clock), w.reading("b/c", w.clock))
	w.clock = w.clock.Add(3 * time.Hour)
	(&steps{world: w}).finish()
	w.check("before")
	w.turn(false)
	for _, ago := range []time.Duration{0, time.Minute, 4 * time.Hour, 30 * time.Hour, 30*time.Hour + time.Minute} {
		w.send(0, nil, w.reading("a", w.clock.Add(-ago)))
	}
	w.turn(true)
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
	w.atRest()
	if n, left := w.rebuild("a", varve.AllTime()); n != 0 || left != 0 {
		t.Errorf("%d marked of what is there, %d left", n, left)
	}
}

// TestRebuildCountedHour: an hour was counted, and more of it came on that day
// while nothing was marked. It is rebuilt, also if the window only touches it.
func TestRebuildCountedHour(t *testing.T) {
	w := newWorld(t)
	w.clock = w.clock.Add(-12 * time.Hour)
	hour := w.clock
	w.send(0, nil, w.reading("a", hour), w.reading("a", hour.Add(time.Second)))
	w.clock = w.clock.Add(3 * time.Hour)
	(&steps{world: w}).finish()
	w.turn(false)
	late := w.reading("a", hour.Add(time.Minute))
	w.send(0, nil, late)
	w.turn(true)
	if c := w.model[key(&late)].copies[0]; c.Arrived.YearDay() != hour.YearDay() {
		t.Fatalf("the test is wrong: it arrived at %s", c.Arrived)
	}
	if n, left := w.rebuild("a", varve.Window{From: hour.Add(30 * time.Minute), To: hour.Add(31 * time.Minute)}); n != 1 || left != 0 {
		t.Errorf("%d marked, %d left", n, left)
	}
	w.check("rebuilt")
	w.clock = w.clock.Add(3 * time.Hour)
	(&steps{world: w}).finish()
	w.check("at rest")
	w.atRest()
}

// TestRebuildCopyAfterDrop: a reading was counted in November, and came again in
// December while nothing was marked. When the table of the first copy is gone,
// the other one is not taken for new.
func TestRebuildCopyAfterDrop(t *testing.T) {
	m := turnOfMonth(t)
	r := m.reading("a", m.clock)
	m.send(0, nil, r)
	first := m.model[key(&r)].tables[0]
	m.clock = m.clock.Add(3 * time.Hour)
	m.finish()
	m.turn(false)
	m.send(0, nil, r)
	m.turn(true)
	m.dropOf(first)
	if c := m.model[key(&r)]; len(c.tables) != 2 || !m.there(c.tables[1]) {
		t.Fatalf("the test is wrong: %v", c.tables)
	}
	m.check("before")
	if n, left := m.rebuild("a", varve.AllTime()); n != 0 || left != 0 {
		t.Errorf("%d marked, %d left", n, left)
	}
	m.check("rebuilt")
	m.atRest()
}

// TestRebuildAfterDrop: where the copies are alone that came again, because the
// table of the first ones is gone, they are not taken for what was never counted.
func TestRebuildAfterDrop(t *testing.T) {
	m := turnOfMonth(t)
	r := m.reading("a", m.clock)
	m.send(0, nil, r)
	m.clock = m.clock.Add(12 * time.Hour)
	m.send(0, nil, r)
	tables := m.model[key(&r)].tables
	m.dropOf(tables[0])
	if len(tables) != 2 || !m.there(tables[1]) {
		t.Fatalf("the test is wrong: %v", tables)
	}
	if n, left := m.rebuild("a", varve.AllTime()); n != 0 || left != 0 {
		t.Errorf("%d marked, %d left", n, left)
	}
	m.check("rebuilt")
	m.atRest()
}

// TestRebuildGone: a table goes at the moment in which an hour of it is marked,
// which had been counted. The hour and its day stay as they are.
func TestRebuildGone(t *testing.T) {
	w := newWorld(t)
	w.clock = w.clock.Add(-12 * time.Hour)
	hour := w.clock
	w.send(0, nil, w.reading("a", hour), w.reading("a", hour.Add(-time.Hour)))
	w.clock = w.clock.Add(3 * time.Hour)
	(&steps{world: w}).finish()
	w.turn(false)
	late := w.reading("a", hour.Add(time.Minute))
	w.send(0, nil, late)
	w.turn(true)
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
	w.atRest()
}

// dropOf lets time pass until a table is gone.
func (m *steps) dropOf(table grid.Table) {
	for m.there(table) {
		m.clock = m.clock.Add(24 * time.Hour)
		m.finish()
		m.rotate()
	}
}

// TestRebuildMovedReading: a reading was counted in December; a copy that had
// arrived in November was stored after that, while nothing was marked. It is not
// counted on both days.
func TestRebuildMovedReading(t *testing.T) {
	m := turnOfMonth(t)
	r := m.reading("a", m.clock.Add(-time.Minute))
	m.turn(false)
	m.send(0, func() {
		m.clock = m.clock.Add(30 * time.Minute)
		m.turn(true)
		m.send(2, nil, r)
		m.clock = m.clock.Add(3 * time.Hour)
		m.finish()
	}, r)
	if c := m.model[key(&r)]; len(c.tables) != 2 {
		t.Fatalf("the test is wrong: %v", c.tables)
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

// TestRebuildExact promises that a rebuild takes nothing out of roll-ups and puts
// nothing into them twice, whatever was sent, sent again, counted and dropped
// before, while roll-ups were on or off; and that they are exact after it, as
// long as no table was dropped.
func TestRebuildExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		w.clock = time.Date(2026, 11, 30, 20, 0, 0, 0, time.UTC)
		m := &steps{world: w}
		t.Repeat(map[string]func(*rapid.T){
			"send":    m.sendSome,
			"weeks":   func(*rapid.T) { m.weeks() },
			"turn":    func(t *rapid.T) { w.turn(rapid.Bool().Draw(t, "on")) },
			"advance": m.advance,
			"work":    m.work,
			"rotate":  func(*rapid.T) { w.rotate() },
			"rebuild": func(*rapid.T) { m.rebuildAll() },
		})
		m.rebuildAll()
	})
}

// weeks lets so much time pass that tables go.
func (m *steps) weeks() {
	for range 6 {
		m.clock = m.clock.Add(48 * time.Hour)
		m.finish()
		m.rotate()
	}
}

func (m *steps) rebuildAll() {
	whole := true
	for _, c := range m.model {
		whole = whole && !slices.ContainsFunc(c.tables, func(t grid.Table) bool { return !m.there(t) })
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
				m.between(what+": "+p.String()+" of "+device, before[device+p.String()], m.read(device, p, 0), m.expected(device, p))
			}
		}
		if whole {
			m.check(what)
		}
		m.clock = m.clock.Add(3 * time.Hour)
		m.finish()
	}
	if whole {
		m.atRest()
	}
}

// between checks that roll-ups have what was in them before, and nothing that is
// not in a recount.
func (m *steps) between(what string, before map[int64]*big.Int, got []rollup.Rollup, most map[int64][]varve.Reading) {
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
