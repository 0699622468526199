package rollup_test

import (
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/rollup"
	"github.com/varvedb/varve/store"
)

// TestRewind_RemovesLaterArrivals counts readings of one hour that arrive on two days, and some more that
// arrive later on the first day. After a rewind to a time on the first day, roll-ups must lack the later readings.
func TestRewind_RemovesLaterArrivals(t *testing.T) {
	m := &steps{world: newWorld(t)}
	m.clock = time.Date(2026, 12, 1, 8, 0, 0, 0, time.UTC)
	hour := m.clock
	m.send(0, nil, m.reading("a", hour))
	cut := m.clock
	var later []varve.Reading
	for i, at := range []time.Time{m.clock.Add(time.Minute), m.clock.Add(30 * time.Hour)} {
		m.clock = at
		r := m.reading("a", hour.Add(time.Duration(i+1)*time.Second))
		m.send(0, nil, r)
		later = append(later, r)
		m.clock = m.clock.Add(4 * time.Hour)
		m.finish()
	}
	m.check("before")
	series := later[0].Series
	for i := range later {
		for _, table := range m.model[key(&later[i])].tables {
			if _, err := m.store.Erase(t.Context(), store.Erasure{Table: table, Series: series, Window: varve.AllTime(), After: cut, Arrived: m.clock}); err != nil {
				t.Fatal(err)
			}
		}
		delete(m.model, key(&later[i]))
	}
	n, err := rollup.Rewind(t.Context(), m.store, m.clock, series, cut)
	if err != nil || n != 2 {
		t.Fatalf("%d partials of hours were deleted, want 2: %v", n, err)
	}
	m.check("dirty")
	m.clock = m.clock.Add(4 * time.Hour)
	m.finish()
	m.check("counted")
}
