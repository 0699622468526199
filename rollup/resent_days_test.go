package rollup_test

import (
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/rollup"
)

func (m *steps) checkExactly(what string, n int, chosen func(i int) bool) {
	m.t.Helper()
	for _, p := range []rollup.Period{rollup.Hourly, rollup.Daily} {
		if missing, double := m.wrong(p, n, chosen); missing+double > 0 {
			m.t.Errorf("%s, %s, %s: %d missing, %d twice", what, m.resent, p, missing, double)
		}
	}
}

func allReadings(int) bool { return true }

// inHours returns a world at the end of an hour, and n readings of that hour.
func inHours(t *testing.T, n int, resent rollup.Resent) (*steps, []varve.Reading) {
	w := newWorld(t)
	w.resent = resent
	hour := time.Date(2026, 11, 28, 8, 0, 0, 0, time.UTC)
	w.clock = hour.Add(time.Hour)
	return &steps{world: w}, backlog(t, hour, n)
}

var bothSettings = []rollup.Resent{rollup.IgnoreResent, rollup.CountResent}

// TestResent_AfterSeveralDays sends the even and the odd readings of an hour on two days. After
// both tables are dropped, it resends the whole hour. Each reading must count once, whether or not
// the partials have fingerprints of their readings.
func TestResent_AfterSeveralDays(t *testing.T) {
	for _, resent := range bothSettings {
		for _, older := range []bool{false, true} {
			m, readings := inHours(t, 480, resent)
			m.send(0, nil, pick(readings, func(i int) bool { return i%2 == 0 })...)
			m.clock = m.clock.Add(24 * time.Hour)
			m.finish()
			m.send(0, nil, pick(readings, func(i int) bool { return i%2 == 1 })...)
			m.checkExactly("on two days", 480, allReadings)
			m.clock = m.clock.Add(3 * time.Hour)
			m.finish()
			m.checkExactly("on two days, at rest", 480, allReadings)
			if older {
				m.dropSketches("a")
			}
			m.dropOf(m.model[key(&readings[0])].tables[0])
			m.send(0, nil, readings...)
			m.checkExactly("resent", 480, allReadings)
			m.clock = m.clock.Add(3 * time.Hour)
			m.finish()
			m.checkExactly("resent, at rest", 480, allReadings)
		}
	}
}

// TestResent_LateReadingsOfDirtyHour sends more readings of a counted hour, on the same day and
// on the next. All must count, because no reading has expired.
func TestResent_LateReadingsOfDirtyHour(t *testing.T) {
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
		m.checkExactly("both dirty", 480, allReadings)
		for range 12 {
			m.clock = m.clock.Add(10 * time.Minute)
			m.aggregate()
			m.checkExactly("counted in part", 480, allReadings)
		}
		m.finish()
		m.checkExactly("at rest", 480, allReadings)
	}
}

// aggregate runs an aggregator with a correct clock.
func (m *steps) aggregate() {
	m.t.Helper()
	if _, err := m.aggregator(0).Run(m.t.(*testing.T).Context()); err != nil {
		m.t.Fatalf("%v", err)
	}
}

// TestResent_HourBeforeOthersOfDay aggregates an hour of resent readings while other hours of its day
// are dirty. Roll-ups must be exact before and after those hours are aggregated.
func TestResent_HourBeforeOthersOfDay(t *testing.T) {
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
	m.aggregate()
	if marks := m.markersOf("a"); marks != 1 {
		t.Fatalf("the test is ineffective: %d markers are left", marks)
	}
	m.check("counted in part")
	m.clock = m.clock.Add(3 * time.Hour)
	m.finish()
	m.check("at rest")
	m.checkStored()
}

func (w *world) markersOf(device string) (n int) {
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

// TestRebuild_FutureHour counts readings whose event times are on the next day. On that day, copies
// and new readings arrive while roll-ups are off. After the first copies are dropped, a rebuild
// must count only the new readings.
func TestRebuild_FutureHour(t *testing.T) {
	m := endOfMonth(t)
	m.clock = m.clock.Add(-4 * time.Hour) // the clock is at 19:50 on 30 November
	future, next := m.reading("a", m.clock.Add(10*time.Hour)), m.reading("a", m.clock.Add(12*time.Hour))
	m.send(0, nil, future, next)
	first := m.model[key(&future)].tables[0]
	m.clock = m.clock.Add(12 * time.Hour)
	m.finish()
	m.setRollups(false)
	m.send(0, nil, future, next, m.reading("a", future.Time.Add(time.Minute)), m.reading("a", next.Time.Add(time.Minute)))
	m.setRollups(true)
	m.dropOf(first)
	for _, r := range []varve.Reading{future, next} {
		if n, left := m.rebuild("a", varve.Window{From: r.Time, To: r.Time.Add(time.Second)}); n != 1 || left != 0 {
			t.Errorf("%d marked, %d left", n, left)
		}
		m.clock = m.clock.Add(45 * time.Minute)
	}
	m.check("rebuilt")
	for range 3 {
		m.aggregate()
		m.check("counted in part")
		m.clock = m.clock.Add(35 * time.Minute)
	}
	m.finish()
	m.check("at rest")
	m.checkStored()
}

// TestRebuild_BesideLateReadings rebuilds an hour for one arrival day while readings that arrived
// on the next day are aggregated. All readings must count.
func TestRebuild_BesideLateReadings(t *testing.T) {
	for _, resent := range bothSettings {
		m, readings := inHours(t, 480, resent)
		third := func(k int) func(int) bool { return func(i int) bool { return i%3 == k } }
		m.send(0, nil, pick(readings, third(0))...)
		m.clock = m.clock.Add(3 * time.Hour)
		m.finish()
		m.setRollups(false)
		m.send(0, nil, pick(readings, third(1))...)
		m.setRollups(true)
		m.clock = m.clock.Add(24 * time.Hour)
		m.send(0, nil, pick(readings, third(2))...)
		m.clock = m.clock.Add(50 * time.Minute)
		if n, left := m.rebuild("a", varve.AllTime()); n != 1 || left != 0 {
			t.Errorf("%d marked, %d left", n, left)
		}
		m.checkExactly("rebuilt", 480, allReadings)
		m.clock = m.clock.Add(26 * time.Minute)
		m.aggregate()
		if marks := m.markersOf("a"); marks != 1 {
			t.Fatalf("the test is ineffective: %d markers are left", marks)
		}
		m.checkExactly("counted in part", 480, allReadings)
		m.clock = m.clock.Add(3 * time.Hour)
		m.finish()
		m.checkExactly("at rest", 480, allReadings)
	}
}
