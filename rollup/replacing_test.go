package rollup_test

import (
	"context"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/rollup"
)

// TestRead_KeepsCorrectionAfterDrop corrects a reading of the day before, and drops the table of the
// original. Then the hour becomes dirty again. The correction must still count once, with the readings
// that arrived since. A correction that arrives after the drop must not count.
func TestRead_KeepsCorrectionAfterDrop(t *testing.T) {
	m := endOfMonth(t)
	original := m.reading("a", m.clock)
	other := m.reading("a", m.clock.Add(time.Second))
	m.send(0, nil, original, other)
	first := m.model[key(&original)].tables[0]
	m.clock = time.Date(2026, 12, 1, 4, 0, 0, 0, time.UTC)
	m.finish()
	m.send(0, nil, m.corrected(&original, 2))
	m.clock = m.clock.Add(4 * time.Hour)
	m.finish()
	if m.replacing() == 0 {
		t.Fatal("no partial replaces another")
	}
	m.check("corrected")
	asked := m.clock
	m.clock = m.clock.Add(time.Hour)
	m.drop(first)
	m.send(0, nil, original) // a copy must not count
	m.send(0, nil, m.reading("a", original.Time.Add(2*time.Second)))
	m.check("dirty")
	m.clock = m.clock.Add(4 * time.Hour)
	m.finish()
	m.check("counted")
	late := m.corrected(&other, 3)
	m.send(0, nil, late)
	delete(m.model, key(&late))
	m.check("dirty, with a correction that does not count")
	m.clock = m.clock.Add(4 * time.Hour)
	m.finish()
	m.check("with a correction that does not count")
	for reason, asOf := range map[string]time.Time{"before the last readings": asked, "after a correction that may have counted": m.clock} {
		if _, err := m.readAsOf("a", rollup.Hourly, 0, asOf); varve.FailureOf(err) != varve.Invalid {
			t.Errorf("roll-ups as of a time %s: %v, want an invalid parameter", reason, err)
		}
	}
	m.clock = m.clock.Add(50 * time.Hour)
	if _, err := m.readAsOf("a", rollup.Hourly, 0, m.clock); err != nil {
		t.Error(err)
	}
}

// TestRead_RefusesTimeOfIgnoredCorrection corrects the only reading of an hour, asks for its roll-up, and
// drops the table of the original before the hour is recounted. Then the correction does not count. So
// roll-ups as of the time of the question must be refused, although the recounted day has no readings.
func TestRead_RefusesTimeOfIgnoredCorrection(t *testing.T) {
	m := endOfMonth(t)
	original := m.reading("a", m.clock)
	m.send(0, nil, original)
	m.clock = time.Date(2026, 12, 1, 4, 0, 0, 0, time.UTC)
	m.finish()
	m.send(0, nil, m.corrected(&original, 1))
	m.check("corrected")
	asked := m.clock
	m.clock = m.clock.Add(time.Hour)
	m.drop(m.model[key(&original)].tables[0])
	m.clock = m.clock.Add(4 * time.Hour)
	m.finish()
	for _, p := range []rollup.Period{rollup.Hourly, rollup.Daily} {
		if _, err := m.readAsOf("a", p, 0, asked); varve.FailureOf(err) != varve.Invalid {
			t.Errorf("period %s as of the question: %v, want an invalid parameter", p, err)
		}
		if _, err := m.readAsOf("a", p, 0, asked.Add(50*time.Hour)); err != nil {
			t.Errorf("period %s as of a later time: %v", p, err)
		}
	}
}

// corrected returns a version of a reading, with another value.
func (w *world) corrected(r *varve.Reading, version uint32) varve.Reading {
	c := w.reading("a", r.Time)
	c.ID = r.ID.WithVersion(version)
	return c
}

// drop retires and drops a table.
func (w *world) drop(table grid.Table) {
	if err := w.store.Retire(context.Background(), table, w.clock); err != nil {
		w.t.Fatalf("%v", err)
	}
	if err := w.store.Drop(context.Background(), table); err != nil {
		w.t.Fatalf("%v", err)
	}
}
