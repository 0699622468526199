package rollup_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/rollup"
)

// TestRollups_AsOfEqualRecount executes random steps, and compares roll-ups as of earlier times
// with a recount of the readings that had arrived by then. An error is allowed only if a copy was
// deleted that had arrived by the end of the day of the earlier time. As of the end of a day, no
// error is allowed.
func TestRollups_AsOfEqualRecount(t *testing.T) {
	exact := 0
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		w.resent = rapid.SampledFrom([]rollup.Resent{rollup.IgnoreResent, rollup.CountResent}).Draw(t, "resent")
		w.store.readings = rapid.Bool().Draw(t, "readings")
		m := &steps{world: w}
		t.Repeat(map[string]func(*rapid.T){
			"send":        m.sendSome,
			"send slowly": m.sendSlowly,
			"advance":     m.advance,
			"work":        m.aggregateSkewed,
			"rotate":      func(*rapid.T) { w.rotate() },
			"weeks":       func(*rapid.T) { m.passWeeks() },
			"": func(t *rapid.T) {
				exact += m.checkAsOf(t)
			},
		})
	})
	if exact < 100 {
		t.Errorf("only %d answers were compared", exact)
	}
}

// checkAsOf compares roll-ups as of a drawn time, and returns the number of answers that were not
// errors.
func (m *steps) checkAsOf(t *rapid.T) (exact int) {
	asOf := m.drawAsOf(t)
	dayEnd := asOf.Add(time.Millisecond).Truncate(24 * time.Hour).Equal(asOf.Add(time.Millisecond))
	for _, device := range devices {
		for _, p := range []rollup.Period{rollup.Hourly, rollup.Daily} {
			list, err := m.readAsOf(device, p, 3, asOf)
			if err != nil {
				if dayEnd || varve.FailureOf(err) != varve.Invalid || !m.lacksCopies(device, asOf) {
					t.Fatalf("as of %s: %v\n%s", asOf, err, m.dump())
				}
				continue
			}
			exact++
			var got []string
			for _, r := range list {
				got = append(got, show(r.Start, &r.Partial))
			}
			m.compare(fmt.Sprintf("%s of %s as of %s", p, device, asOf.Format(time.RFC3339Nano)), got, m.expectedAsOf(device, p, asOf))
		}
	}
	return exact
}

// drawAsOf draws a time that is not in the future. It is often the arrival of a reading, a
// millisecond before an arrival, or the end of a day.
func (m *steps) drawAsOf(t *rapid.T) time.Time {
	at := m.clock.Add(-rapid.SampledFrom([]time.Duration{0, time.Minute, time.Hour, 10 * time.Hour, 24 * time.Hour, 40 * 24 * time.Hour}).Draw(t, "as of"))
	switch rapid.IntRange(0, 2).Draw(t, "kind of as of") {
	case 1:
		at = at.Truncate(24 * time.Hour).Add(-time.Millisecond)
	case 2:
		if len(m.sent) > 0 {
			if c := m.model[key(&m.sent[rapid.IntRange(0, len(m.sent)-1).Draw(t, "of")])]; c != nil {
				at = c.copies[0].Arrived.Add(rapid.SampledFrom([]time.Duration{-time.Millisecond, 0}).Draw(t, "beside it"))
			}
		}
	}
	if at.After(m.clock) {
		return m.clock
	}
	return at
}

// lacksCopies reports whether a copy of a device's reading was in a table that no longer exists. It
// considers only copies that arrived on the day of asOf or earlier.
func (m *steps) lacksCopies(device string, asOf time.Time) bool {
	day := asOf.Add(time.Millisecond).Format(time.DateOnly)
	for name, c := range m.model {
		for i := range c.copies {
			if strings.Contains(name, device) && c.copies[i].Arrived.Format(time.DateOnly) <= day && !m.tableExists(c.tables[i]) {
				return true
			}
		}
	}
	return false
}
