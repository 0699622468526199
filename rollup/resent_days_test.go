package rollup_test

import (
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/rollup"
)

// exactly checks that each of n readings that is chosen counts once, and no other.
func (m *steps) exactly(what string, n int, chosen func(i int) bool) {
	m.t.Helper()
	for _, p := range []rollup.Period{rollup.Hourly, rollup.Daily} {
		if missing, double := m.wrong(p, n, chosen); missing+double > 0 {
			m.t.Errorf("%s, %s, %s: %d missing, %d twice", what, m.resent, p, missing, double)
		}
	}
}

func everyOne(int) bool { return true }

// inHours begins a world at the end of an hour of n readings.
func inHours(t *testing.T, n int, resent rollup.Resent) (*steps, []varve.Reading) {
	w := newWorld(t)
	w.resent = resent
	hour := time.Date(2026, 11, 28, 8, 0, 0, 0, time.UTC)
	w.clock = hour.Add(time.Hour)
	return &steps{world: w}, backlog(t, hour, n)
}

var bothSettings = []rollup.Resent{rollup.IgnoreResent, rollup.CountResent}

// TestResentOfSeveralDays: an hour came in two halves on two days, reading by reading
// in turns. When both are gone, the whole is resent: it counts once, also where older
// versions wrote the partials.
func TestResentOfSeveralDays(t *testing.T) {
	for _, resent := range bothSettings {
		for _, older := range []bool{false, true} {
			m, readings := inHours(t, 480, resent)
			m.send(0, nil, pick(readings, func(i int) bool { return i%2 == 0 })...)
			m.clock = m.clock.Add(24 * time.Hour)
			m.finish()
			m.send(0, nil, pick(readings, func(i int) bool { return i%2 == 1 })...)
			m.exactly("on two days", 480, everyOne)
			m.clock = m.clock.Add(3 * time.Hour)
			m.finish()
			m.exactly("on two days, at rest", 480, everyOne)
			if older {
				m.dropSketches("a")
			}
			m.dropOf(m.model[key(&readings[0])].tables[0])
			m.send(0, nil, readings...)
			m.exactly("resent", 480, everyOne)
			m.clock = m.clock.Add(3 * time.Hour)
			m.finish()
			m.exactly("resent, at rest", 480, everyOne)
		}
	}
}

// TestLateOfDirtyHour: more of an hour with many readings comes on its day, after it
// was counted, and on the next day. Nothing of that is unclear, as long as nothing
// has expired, whether the first day's partial is at rest or not.
func TestLateOfDirtyHour(t *testing.T) {
	for _, resent := range bothSettings {
		m, readings := inHours(t, 480, resent)
		third := func(k int) func(int) bool { return func(i int) bool { return i%3 == k } }
		m.send(0, nil, pick(readings, third(0))...)
		m.clock = m.clock.Add(3 * time.Hour)
		m.finish()
		m.clock = time.Date(2026, 11, 28, 23, 40, 0, 0, time.UTC)
		m.send(0, nil, pick(readings, third(1))...)
		m.clock = m.clock.Add(25 * time.Minute)
		m.send(0, nil, pick(readings, third(2))...)
		m.exactly("both dirty", 480, everyOne)
		for range 12 {
			m.clock = m.clock.Add(10 * time.Minute)
			m.work0()
			m.exactly("counted in part", 480, everyOne)
		}
		m.finish()
		m.exactly("at rest", 480, everyOne)
	}
}

// work0 has a worker with the right time take what is due.
func (m *steps) work0() {
	m.t.Helper()
	if _, err := m.worker(0).Run(m.t.(*testing.T).Context()); err != nil {
		m.t.Fatalf("%v", err)
	}
}

// TestResentHourBeforeOthers: a resent hour is counted while others of its day are
// still marked.
func TestResentHourBeforeOthers(t *testing.T) {
	m := &steps{world: newWorld(t)}
	m.clock = time.Date(2026, 11, 28, 9, 0, 0, 0, time.UTC)
	readings := []varve.Reading{m.reading("a", m.clock.Add(-time.Hour)), m.reading("a", m.clock.Add(-time.Minute))}
	m.send(0, nil, readings...)
	m.clock = m.clock.Add(3 * time.Hour)
	m.finish()
	m.dropOf(m.model[key(&readings[0])].tables[0])
	m.clock = m.clock.Truncate(24 * time.Hour).Add(10 * time.Hour)
	m.send(0, nil, readings...)
	m.clock = m.clock.Add(50 * time.Minute)
	m.send(0, nil, m.reading("a", readings[0].Time.Add(-2*time.Hour)))
	m.clock = m.clock.Add(26 * time.Minute)
	m.work0()
	if marks := m.marksOf("a"); marks != 1 {
		t.Fatalf("the test is wrong: %d marks are left", marks)
	}
	m.check("counted in part")
	m.clock = m.clock.Add(3 * time.Hour)
	m.finish()
	m.check("at rest")
	m.atRest()
}

func (w *world) marksOf(device string) (n int) {
	w.t.Helper()
	page, err := w.store.Query(w.t.(*testing.T).Context(), itemsOf(device))
	if err != nil {
		w.t.Fatalf("%v", err)
	}
	for _, it := range page.Items {
		if it.SK[0] == 'X' {
			n++
		}
	}
	return n
}

// TestRebuildOfFutureHour: readings of tomorrow came today, and were counted; copies
// came tomorrow, with others, while nothing was marked. When the first ones are gone,
// a rebuild counts the others, and no copy, also while more of the day is marked.
func TestRebuildOfFutureHour(t *testing.T) {
	m := turnOfMonth(t)
	m.clock = m.clock.Add(-4 * time.Hour) // 30 November, 19:50
	future, next := m.reading("a", m.clock.Add(10*time.Hour)), m.reading("a", m.clock.Add(12*time.Hour))
	m.send(0, nil, future, next)
	first := m.model[key(&future)].tables[0]
	m.clock = m.clock.Add(12 * time.Hour)
	m.finish()
	m.turn(false)
	m.send(0, nil, future, next, m.reading("a", future.Time.Add(time.Minute)), m.reading("a", next.Time.Add(time.Minute)))
	m.turn(true)
	m.dropOf(first)
	for _, r := range []varve.Reading{future, next} {
		if n, left := m.rebuild("a", varve.Window{From: r.Time, To: r.Time.Add(time.Second)}); n != 1 || left != 0 {
			t.Errorf("%d marked, %d left", n, left)
		}
		m.clock = m.clock.Add(45 * time.Minute)
	}
	m.check("rebuilt")
	for range 3 {
		m.work0()
		m.check("counted in part")
		m.clock = m.clock.Add(35 * time.Minute)
	}
	m.finish()
	m.check("at rest")
	m.atRest()
}

// TestLateBesideRebuild: an hour with many readings is to be rebuilt as to one day,
// when it is counted as to the next. Nothing of that is unclear.
func TestLateBesideRebuild(t *testing.T) {
	for _, resent := range bothSettings {
		m, readings := inHours(t, 480, resent)
		third := func(k int) func(int) bool { return func(i int) bool { return i%3 == k } }
		m.send(0, nil, pick(readings, third(0))...)
		m.clock = m.clock.Add(3 * time.Hour)
		m.finish()
		m.turn(false)
		m.send(0, nil, pick(readings, third(1))...)
		m.turn(true)
		m.clock = m.clock.Add(24 * time.Hour)
		m.send(0, nil, pick(readings, third(2))...)
		m.clock = m.clock.Add(50 * time.Minute)
		if n, left := m.rebuild("a", varve.AllTime()); n != 1 || left != 0 {
			t.Errorf("%d marked, %d left", n, left)
		}
		m.exactly("rebuilt", 480, everyOne)
		m.clock = m.clock.Add(26 * time.Minute)
		m.work0()
		if marks := m.marksOf("a"); marks != 1 {
			t.Fatalf("the test is wrong: %d marks are left", marks)
		}
		m.exactly("counted in part", 480, everyOne)
		m.clock = m.clock.Add(3 * time.Hour)
		m.finish()
		m.exactly("at rest", 480, everyOne)
	}
}
