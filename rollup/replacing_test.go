package rollup_test

import (
	"testing"
	"time"

	"github.com/varvedb/varve"
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
	corrected := func(r *varve.Reading, version uint32) varve.Reading {
		c := m.reading("a", r.Time)
		c.ID = r.ID.WithVersion(version)
		return c
	}
	m.send(0, nil, corrected(&original, 2))
	m.clock = m.clock.Add(4 * time.Hour)
	m.finish()
	if m.replacing() == 0 {
		t.Fatal("no partial replaces another")
	}
	m.check("corrected")
	asked := m.clock
	m.clock = m.clock.Add(time.Hour)
	if err := m.store.Retire(t.Context(), first, m.clock); err != nil {
		t.Fatal(err)
	}
	if err := m.store.Drop(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	m.send(0, nil, original) // a copy must not count
	m.send(0, nil, m.reading("a", original.Time.Add(2*time.Second)))
	m.check("dirty")
	m.clock = m.clock.Add(4 * time.Hour)
	m.finish()
	m.check("counted")
	late := corrected(&other, 3)
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
