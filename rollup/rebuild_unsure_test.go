package rollup_test

import (
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/retention"
	"github.com/varvedb/varve/rollup"
)

// left has the hours of device a rebuilt, of which one cannot be told: it stays
// as it was, also at rest.
func (m *steps) left() {
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

// TestRebuildOtherReadings: an hour was counted, and its reading is gone; as many
// others came on that day while nothing was marked, and a copy of it the day after.
// Neither is the copy counted twice, nor are the others taken for what was counted.
func TestRebuildOtherReadings(t *testing.T) {
	m := &steps{world: newWorld(t)}
	m.policy.Classes = append(m.policy.Classes, retention.Class{Name: "long", Retention: 365 * 24 * time.Hour})
	m.clock = time.Date(2026, 11, 28, 8, 0, 0, 0, time.UTC)
	hour := m.clock
	first := m.reading("a", hour)
	m.send(0, nil, first)
	m.clock = m.clock.Add(3 * time.Hour)
	m.finish()
	m.policy.Streams = map[string]retention.Stream{"weather": {Class: "long"}}
	m.turn(false)
	m.send(0, nil, m.reading("a", hour.Add(time.Minute)))
	m.clock = m.clock.Add(20 * time.Hour)
	m.send(0, nil, first)
	m.turn(true)
	m.dropOf(m.model[key(&first)].tables[0])
	if n, left := m.rebuild("a", varve.AllTime()); n != 0 || left != 2 {
		t.Errorf("%d marked, %d left", n, left)
	}
	got := m.read("a", rollup.Hourly, 0)
	if len(got) != 1 || got[0].Readings != 1 || plain(&got[0].Field("v").Sum) != "2" {
		t.Errorf("%+v", got)
	}
}

// TestRebuildShorterRetention: a reading came again while it was alive, and a
// retention that was made shorter later would have it count as new.
func TestRebuildShorterRetention(t *testing.T) {
	m := &steps{world: newWorld(t)}
	m.keep(90 * 24 * time.Hour)
	m.clock = time.Date(2026, 11, 10, 12, 0, 0, 0, time.UTC)
	r := m.reading("a", m.clock)
	m.send(0, nil, r)
	m.clock = m.clock.Add(25 * 24 * time.Hour)
	m.send(0, nil, r)
	m.clock = m.clock.Add(10 * 24 * time.Hour)
	m.finish()
	m.keep(7 * 24 * time.Hour)
	m.left()
	m.keep(90 * 24 * time.Hour)
	if n, left := m.rebuild("a", varve.AllTime()); n != 0 || left != 0 {
		t.Errorf("as it was: %d marked, %d left", n, left)
	}
}

// TestRebuildLongerRetention: a reading counted as new when it came again, which
// a retention that was made longer denies, and another one came while nothing was
// marked: that cannot be sorted out, and is told.
func TestRebuildLongerRetention(t *testing.T) {
	m := &steps{world: newWorld(t)}
	m.clock = time.Date(2026, 11, 28, 8, 0, 0, 0, time.UTC)
	hour := m.clock
	r := m.reading("a", hour)
	m.send(0, nil, r)
	m.clock = m.clock.Add(4 * 24 * time.Hour)
	m.send(0, nil, r)
	m.clock = m.clock.Add(3 * time.Hour)
	m.finish()
	m.turn(false)
	m.send(0, nil, m.reading("a", hour.Add(time.Minute)))
	m.turn(true)
	m.keep(90 * 24 * time.Hour)
	m.left()
}
