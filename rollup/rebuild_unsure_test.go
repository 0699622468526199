package rollup_test

import (
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/retention"
	"github.com/varvedb/varve/rollup"
)

// checkSkipped rebuilds the roll-ups of device a. The rebuild must skip the one uncertain hour, and
// leave all roll-ups unchanged.
func (m *steps) checkSkipped() {
	m.t.Helper()
	for _, p := range []rollup.Period{rollup.Hourly, rollup.Daily} {
		before := m.read("a", p, 0)
		if n, left := m.rebuild("a", varve.AllTime()); n != 0 || left != 1 {
			m.t.Errorf("%d marked, %d left", n, left)
		}
		m.finish()
		after := m.read("a", p, 0)
		if len(before) != 1 || len(after) != 1 || show(before[0].Start, &before[0].Partial) != show(after[0].Start, &after[0].Partial) {
			m.t.Errorf("%s: %+v, after the rebuild %+v", p, before, after)
		}
	}
}

func (w *world) keep(d time.Duration) {
	w.policy.Classes[0].Retention = d
}

// TestRebuild_SkipsHourWithOtherReadings counts the only reading of an hour. While roll-ups are
// off, another reading arrives on the same day, and a copy of the counted reading on the next day.
// Then the first copy is dropped. The remaining copy must not count, and the other reading must not
// replace the counted one.
func TestRebuild_SkipsHourWithOtherReadings(t *testing.T) {
	m := &steps{world: newWorld(t)}
	m.policy.Classes = append(m.policy.Classes, retention.Class{Name: "long", Retention: 365 * 24 * time.Hour})
	m.clock = time.Date(2026, 11, 28, 8, 0, 0, 0, time.UTC)
	hour := m.clock
	first := m.reading("a", hour)
	m.send(0, nil, first)
	m.clock = m.clock.Add(3 * time.Hour)
	m.finish()
	m.policy.Streams = map[string]retention.Stream{"weather": {Class: "long"}}
	m.setRollups(false)
	m.send(0, nil, m.reading("a", hour.Add(time.Minute)))
	m.clock = m.clock.Add(20 * time.Hour)
	m.send(0, nil, first)
	m.setRollups(true)
	m.dropOf(m.model[key(&first)].tables[0])
	if n, left := m.rebuild("a", varve.AllTime()); n != 0 || left != 1 {
		t.Errorf("%d marked, %d left", n, left)
	}
	got := m.read("a", rollup.Hourly, 0)
	if len(got) != 1 || got[0].Readings != 1 || plain(&got[0].Field("v").Sum) != "2" {
		t.Errorf("%+v", got)
	}
}

// TestRebuild_AfterShorterRetention resends a reading before it expires, and then shortens the
// retention of all readings. The reading must count once.
func TestRebuild_AfterShorterRetention(t *testing.T) {
	m := &steps{world: newWorld(t)}
	m.keep(90 * 24 * time.Hour)
	m.clock = time.Date(2026, 11, 10, 12, 0, 0, 0, time.UTC)
	r := m.reading("a", m.clock)
	m.send(0, nil, r)
	m.clock = m.clock.Add(25 * 24 * time.Hour)
	m.send(0, nil, r)
	m.clock = m.clock.Add(10 * 24 * time.Hour)
	m.finish()
	for _, d := range []time.Duration{7 * 24 * time.Hour, 90 * 24 * time.Hour} {
		m.keep(d)
		if n, left := m.rebuild("a", varve.AllTime()); n != 0 || left != 0 {
			t.Errorf("kept for %s: %d marked, %d left", d, n, left)
		}
		m.check("rebuilt")
	}
	m.checkStored()
}

// TestRebuild_AfterLongerRetention resends an expired reading, writes another one while roll-ups
// are off, and then extends the retention. Each reading must count once.
func TestRebuild_AfterLongerRetention(t *testing.T) {
	m := &steps{world: newWorld(t)}
	m.clock = time.Date(2026, 11, 28, 8, 0, 0, 0, time.UTC)
	hour := m.clock
	r := m.reading("a", hour)
	m.send(0, nil, r)
	m.clock = m.clock.Add(4 * 24 * time.Hour)
	m.send(0, nil, r)
	m.clock = m.clock.Add(3 * time.Hour)
	m.finish()
	m.setRollups(false)
	m.send(0, nil, m.reading("a", hour.Add(time.Minute)))
	m.setRollups(true)
	m.keep(90 * 24 * time.Hour)
	if n, left := m.rebuild("a", varve.AllTime()); n != 1 || left != 0 {
		t.Errorf("%d marked, %d left", n, left)
	}
	m.check("rebuilt")
	m.clock = m.clock.Add(3 * time.Hour)
	m.finish()
	m.check("at rest")
	m.checkStored()
}

// TestRebuild_SkipsUnclearHour drops both readings of an hour. It resends one of them together
// with a new reading while roll-ups are off. A partial without fingerprints cannot show which one
// is new, so the hour must not change.
func TestRebuild_SkipsUnclearHour(t *testing.T) {
	for _, resent := range []rollup.Resent{rollup.IgnoreResent, rollup.CountResent} {
		m := &steps{world: newWorld(t)}
		m.resent = resent
		m.clock = time.Date(2026, 11, 28, 8, 0, 0, 0, time.UTC)
		first, second, third := m.reading("a", m.clock), m.reading("a", m.clock.Add(time.Minute)), m.reading("a", m.clock.Add(2*time.Minute))
		m.send(0, nil, first, second)
		m.clock = m.clock.Add(3 * time.Hour)
		m.finish()
		m.dropSketches("a")
		m.dropOf(m.model[key(&first)].tables[0])
		m.setRollups(false)
		m.send(0, nil, second, third)
		m.setRollups(true)
		m.checkSkipped()
	}
}
