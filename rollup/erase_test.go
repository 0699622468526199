package rollup_test

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/internal/randomtest"
	"github.com/varvedb/varve/lease"
	"github.com/varvedb/varve/rollup"
	"github.com/varvedb/varve/store"
)

// eraseReadings erases the copies of a device's readings in a window that arrived by a time, from the
// store and from the model.
func (w *world) eraseReadings(device string, in varve.Window, arrived time.Time) {
	w.t.Helper()
	tables, err := w.store.Tables(context.Background(), store.Filter{Any: true, Window: varve.AllTime()})
	if err != nil {
		w.t.Fatalf("%v", err)
	}
	series := varve.Series{Tenant: "acme", Stream: "weather", Device: device}
	for i := range tables {
		if _, err := w.store.Erase(context.Background(), store.Erasure{Table: tables[i].Table, Series: series, Window: in, Arrived: arrived}); err != nil && !errors.Is(err, store.ErrNoTable) {
			w.t.Fatalf("%v", err)
		}
	}
	for name, c := range w.model {
		if r := c.copies[0]; r.Device != device || !in.Contains(r.Time) {
			continue
		}
		c.copies = slices.DeleteFunc(c.copies, func(r varve.Reading) bool { return !r.Arrived.After(arrived) })
		if len(c.copies) == 0 {
			delete(w.model, name)
		}
	}
}

// erasePartials erases the roll-ups of a device. At random, it first stops the process at a call of
// the store, and runs the aggregator before it repeats the erasure.
func (m *steps) erasePartials(t *rapid.T, device string, in varve.Window, arrived time.Time) {
	series := varve.Series{Tenant: "acme", Stream: "weather", Device: device}
	if rapid.Bool().Draw(t, "interrupted") {
		m.crashAt(t, 30)
		_, err := m.aggregator(0).ErasePartials(context.Background(), series, in, arrived)
		crashed := m.store.down
		if m.heal(); err != nil && !crashed && !errors.Is(err, lease.ErrHeld) {
			t.Fatalf("%v", err)
		}
		m.clock = m.clock.Add(rapid.SampledFrom([]time.Duration{10 * time.Minute, 3 * time.Hour}).Draw(t, "pause"))
		m.aggregateSkewed(t)
	}
	for {
		_, err := m.aggregator(0).ErasePartials(context.Background(), series, in, arrived)
		if err == nil {
			return
		}
		if !errors.Is(err, lease.ErrHeld) {
			t.Fatalf("%v", err)
		}
		m.clock = m.clock.Add(time.Hour)
	}
}

// drawErased draws a device, a window of whole hours and a time between the start and now.
func (m *steps) drawErased(t *rapid.T) (device string, in varve.Window, arrived time.Time) {
	device, in = rapid.SampledFrom(devices).Draw(t, "device"), varve.AllTime()
	if rapid.Bool().Draw(t, "bounded") {
		in.From = start.Add(time.Duration(rapid.IntRange(-30, 30).Draw(t, "from")) * time.Hour).Truncate(time.Hour)
		in.To = in.From.Add(time.Duration(rapid.IntRange(1, 60).Draw(t, "hours")) * time.Hour)
	}
	ago := rapid.Int64Range(0, int64(m.clock.Sub(start)/time.Second)).Draw(t, "arrived")
	return device, in, m.clock.Add(-time.Duration(ago) * time.Second)
}

// TestErasePartials_EqualRecount erases readings at random times, while readings are corrected, late
// and resent. Roll-ups must equal a recount of the readings that are left. No table is dropped.
func TestErasePartials_EqualRecount(t *testing.T) {
	randomtest.LimitChecks(t, 30)
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		w.resent = rapid.SampledFrom([]rollup.Resent{rollup.IgnoreResent, rollup.CountResent}).Draw(t, "resent")
		w.store.readings = rapid.Bool().Draw(t, "readings")
		m := &steps{world: w}
		t.Repeat(map[string]func(*rapid.T){
			"send":    m.sendCorrected,
			"advance": m.advance,
			"work":    m.aggregateSkewed,
			"erase": func(t *rapid.T) {
				device, in, arrived := m.drawErased(t)
				w.eraseReadings(device, in, arrived)
				m.erasePartials(t, device, in, arrived)
			},
			"": func(*rapid.T) { w.check("read") },
		})
		w.clock = w.clock.Add(4 * time.Hour)
		m.finish()
		w.check("at the end")
	})
}

// TestErasePartials_KeepLaterArrivals drops tables and then erases readings. Roll-ups must have the
// readings that arrived after the day of the last erased arrival, and must not have erased ones.
func TestErasePartials_KeepLaterArrivals(t *testing.T) {
	randomtest.LimitChecks(t, 30)
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		w.store.readings = rapid.Bool().Draw(t, "readings")
		m := &steps{world: w}
		t.Repeat(map[string]func(*rapid.T){
			"send":    m.sendSome,
			"advance": m.advance,
			"work":    m.aggregateSkewed,
			"rotate":  func(*rapid.T) { w.rotate() },
			"weeks":   func(*rapid.T) { m.passWeeks() },
			"":        func(*rapid.T) { w.check("read") },
		})
		device, in, arrived := m.drawErased(t)
		other := devices[1-slices.Index(devices, device)]
		periods := []rollup.Period{rollup.Hourly, rollup.Daily}
		later := map[rollup.Period]map[int64]*big.Int{}
		for _, p := range periods {
			later[p] = m.laterSums(device, p, in, arrived)
		}
		w.eraseReadings(device, in, arrived)
		m.erasePartials(t, device, in, arrived)
		for _, what := range []string{"dirty", "at the end"} {
			for _, p := range periods {
				m.checkBetween(what+": "+p.String(), later[p], m.read(device, p, 3), m.expected(device, p))
				if got, want := fmt.Sprint(numbers(m.read(other, p, 3))), fmt.Sprint(sums(m.expected(other, p))); got != want {
					t.Fatalf("%s: the roll-ups of the other device %s: %s, want %s", what, other, got, want)
				}
			}
			w.clock = w.clock.Add(4 * time.Hour)
			m.finish()
		}
	})
}

// laterSums returns sums of readings of a device, by period. It includes readings whose first copy
// arrived on a later day than the given time, and readings with an event time outside the window.
func (m *steps) laterSums(device string, p rollup.Period, in varve.Window, arrived time.Time) map[int64]*big.Int {
	periods := m.expected(device, p)
	for at, list := range periods {
		list = slices.DeleteFunc(list, func(r varve.Reading) bool {
			return in.Contains(r.Time) && r.Arrived.Truncate(24*time.Hour).Compare(arrived.Truncate(24*time.Hour)) <= 0
		})
		if periods[at] = list; len(list) == 0 {
			delete(periods, at)
		}
	}
	return sums(periods)
}

// TestErasePartials_RemoveReplacing corrects a reading of an hour on the next day, drops all tables,
// and erases the readings of the first day. The partial of the next day counts the whole hour, so it
// must be removed with them.
func TestErasePartials_RemoveReplacing(t *testing.T) {
	m := &steps{world: newWorld(t)}
	first, other := m.reading("a", m.clock), m.reading("a", m.clock.Add(time.Second))
	arrived := m.clock
	m.send(0, nil, first, other)
	m.clock = m.clock.Add(24 * time.Hour)
	second := m.reading("a", first.Time)
	second.ID = first.ID.WithVersion(1)
	m.send(0, nil, second)
	m.clock = m.clock.Add(4 * time.Hour)
	m.finish()
	if m.replacing() == 0 {
		t.Fatal("no partial replaces others")
	}
	m.passWeeks()
	m.rotate()
	m.eraseReadings("a", varve.AllTime(), arrived)
	n, err := m.aggregator(0).ErasePartials(t.Context(), first.Series, varve.AllTime(), arrived)
	if list := m.read("a", rollup.Hourly, 3); err != nil || n != 2 || len(list) > 0 {
		t.Errorf("%d partials were erased, %d roll-ups are left, %v", n, len(list), err)
	}
}
