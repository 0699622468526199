package rollup_test

import (
	"context"
	"fmt"
	"math/big"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/internal/randomtest"
	"github.com/varvedb/varve/rollup"
)

// drawCorrected draws new readings, and versions of readings that were sent before.
func (m *steps) drawCorrected(t *rapid.T) (list []varve.Reading) {
	list = m.draw(t)
	for range rapid.IntRange(0, 3).Draw(t, "corrections") {
		if len(m.sent) == 0 || m.made >= 120 {
			break
		}
		of := rapid.SampledFrom(m.sent).Draw(t, "corrected")
		r := m.reading(of.Device, of.Time)
		r.ID = of.ID.WithVersion(rapid.SampledFrom([]uint32{0, 1, 1, 2, 2, 3, 10}).Draw(t, "version"))
		m.sent = append(m.sent, r)
		list = append(list, r)
	}
	return list
}

func (m *steps) sendCorrected(t *rapid.T) { m.send(drawRouter(t), nil, m.drawCorrected(t)...) }

func (m *steps) sendCorrectedSlowly(t *rapid.T) {
	readings := m.drawCorrected(t)
	while := rapid.SampledFrom([]time.Duration{0, 9 * time.Minute, 3 * time.Hour, 25 * time.Hour}).Draw(t, "while")
	m.send(drawRouter(t), func() {
		m.clock = m.clock.Add(while)
		m.aggregateSkewed(t)
	}, readings...)
}

// TestRollups_CountNewestVersions executes random steps with corrections, and compares roll-ups with a
// recount of the newest versions, now and as of earlier times. No table is dropped.
func TestRollups_CountNewestVersions(t *testing.T) {
	randomtest.LimitChecks(t, 40)
	replaced, sequences := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		sequences++
		w := newWorld(t)
		w.resent = rapid.SampledFrom([]rollup.Resent{rollup.IgnoreResent, rollup.CountResent}).Draw(t, "resent")
		w.store.readings = rapid.Bool().Draw(t, "readings")
		m := &steps{world: w}
		t.Repeat(map[string]func(*rapid.T){
			"send":        m.sendCorrected,
			"send slowly": m.sendCorrectedSlowly,
			"advance":     m.advance,
			"work":        m.aggregateSkewed,
			"work, crash": m.aggregateAndCrash,
			"": func(t *rapid.T) {
				w.check("read")
				m.checkAsOf(t)
			},
		})
		w.clock = w.clock.Add(4 * time.Hour)
		m.finish()
		w.check("at the end")
		for range 3 {
			m.checkAsOf(t)
		}
		replaced += w.replacing()
		for name := range w.model {
			r := w.model[name].copies[0]
			reader := rollup.NewReader(w.store, w.source(w.now), w.resent)
			if _, err := reader.Check(t.Context(), r.Series, r.Time, true, func(d rollup.Difference) { t.Fatalf("%s\n%s", &d, w.dump()) }); err != nil {
				t.Fatalf("%v", err)
			}
		}
	})
	if replaced < sequences/2 {
		t.Errorf("only %d partials replaced others in %d sequences", replaced, sequences)
	}
}

// replacing returns the number of stored items whose partials replace partials of earlier arrival
// days.
func (w *world) replacing() (n int) {
	for _, device := range devices {
		page, err := w.store.Query(context.Background(), itemsOf(device))
		if err != nil {
			w.t.Fatalf("%v", err)
		}
		for _, it := range page.Items {
			if it.Attrs["replaces"].Bool() {
				n++
			}
		}
	}
	return n
}

// TestRollups_NeverCountTwoVersions executes random steps with corrections, and drops tables. A
// correction may be missing then, but no reading may count in two versions.
func TestRollups_NeverCountTwoVersions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		w.resent = rollup.IgnoreResent
		w.store.readings = rapid.Bool().Draw(t, "readings")
		m := &steps{world: w}
		t.Repeat(map[string]func(*rapid.T){
			"send":    m.sendCorrected,
			"advance": m.advance,
			"work":    m.aggregateSkewed,
			"rotate":  func(*rapid.T) { w.rotate() },
			"weeks":   func(*rapid.T) { m.passWeeks() },
			"":        func(*rapid.T) { w.checkVersionsApart() },
		})
		w.clock = w.clock.Add(4 * time.Hour)
		m.finish()
		w.checkVersionsApart()
	})
}

// checkVersionsApart checks that each roll-up has at most one version of each reading. The numbers of
// readings are different powers of two, so a sum shows which versions it includes.
func (w *world) checkVersionsApart() {
	w.t.Helper()
	for _, device := range devices {
		for _, r := range w.read(device, rollup.Hourly, 3) {
			field := r.Field("v")
			if field == nil {
				continue
			}
			sum, _ := new(big.Int).SetString(plain(&field.Sum), 10)
			counted, of := map[string][]string{}, int64(0)
			for _, c := range w.model {
				reading := c.copies[0]
				value := reading.Field("v")
				if reading.Device != device || !reading.Time.Truncate(time.Hour).Equal(r.Start) || value.Kind() != varve.KindNumber {
					continue
				}
				n, _ := new(big.Int).SetString(value.String(), 10)
				if sum.Bit(n.BitLen()-1) == 1 {
					of++
					id := fmt.Sprint(reading.Time, reading.ID)
					counted[id] = append(counted[id], reading.String())
				}
			}
			for id, versions := range counted {
				if len(versions) > 1 {
					w.t.Fatalf("%s counts in the versions %v: %s\n%s", id, versions, show(r.Start, &r.Partial), w.dump())
				}
			}
			if of != field.Count {
				w.t.Fatalf("%d numbers count, and %d are known: %s\n%s", field.Count, of, show(r.Start, &r.Partial), w.dump())
			}
		}
	}
}
