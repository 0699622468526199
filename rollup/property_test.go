package rollup_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/internal/randomtest"
	"github.com/varvedb/varve/lease"
	"github.com/varvedb/varve/rollup"
)

// TestRollups_EqualRecount executes random steps, and compares roll-ups with a recount after each
// of them. Readings are late, early or resent, clocks differ by ten minutes, and requests are slow.
// Processes stop at any call, tables are dropped, and expired readings are deleted. At the end, the
// stored partials must be exact, too.
//
// A stored reading counts even if its writer stopped before it returned the verdict.
func TestRollups_EqualRecount(t *testing.T) {
	randomtest.LimitChecks(t, 40)
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		if rapid.Bool().Draw(t, "expires") {
			w.startRotator(w.store)
		}
		w.resent = rapid.SampledFrom([]rollup.Resent{rollup.IgnoreResent, rollup.CountResent}).Draw(t, "resent")
		w.store.readings = rapid.Bool().Draw(t, "readings")
		m := &steps{world: w}
		t.Repeat(map[string]func(*rapid.T){
			"send":        m.sendSome,
			"send slowly": m.sendSlowly,
			"send, crash": m.sendAndCrash,
			"restart":     func(t *rapid.T) { w.restart(rapid.IntRange(0, 2).Draw(t, "router")) },
			"advance":     m.advance,
			"work":        m.aggregateSkewed,
			"work, crash": m.aggregateAndCrash,
			"work, send":  m.aggregateAndSend,
			"read, send":  m.readAndSend,
			"rotate":      func(*rapid.T) { w.rotate() },
			"weeks":       func(*rapid.T) { m.passWeeks() },
			"":            func(*rapid.T) { w.check("read") },
		})
		w.clock = w.clock.Add(4 * time.Hour)
		m.finish()
		w.check("at the end")
		w.checkStored()
	})
}

type steps struct {
	*world
	sent []varve.Reading
}

// draw draws readings: current, early, late and resent ones, and some near the beginning of an
// hour.
func (m *steps) draw(t *rapid.T) (list []varve.Reading) {
	for range rapid.IntRange(1, 4).Draw(t, "readings") {
		if len(m.sent) > 0 && (m.made >= 120 || rapid.IntRange(0, 2).Draw(t, "again") == 0) {
			list = append(list, rapid.SampledFrom(m.sent).Draw(t, "which"))
			continue
		}
		if m.made >= 120 {
			continue
		}
		ago := rapid.SampledFrom([]time.Duration{
			0, time.Second, time.Minute, 10 * time.Minute, time.Hour, 90 * time.Minute, 2 * time.Hour, 20 * time.Hour,
			26 * time.Hour, 9 * 24 * time.Hour, 40 * 24 * time.Hour, 900 * 24 * time.Hour, -time.Minute, -time.Hour, -20 * time.Hour,
		}).Draw(t, "ago")
		at := m.clock.Add(-ago)
		if rapid.IntRange(0, 3).Draw(t, "at the turn") == 0 {
			at = at.Truncate(time.Hour).Add(rapid.SampledFrom([]time.Duration{-1, 0, 1}).Draw(t, "ns"))
		}
		r := m.reading(rapid.SampledFrom(devices).Draw(t, "device"), at)
		m.sent = append(m.sent, r)
		list = append(list, r)
	}
	return list
}

func drawRouter(t *rapid.T) int { return rapid.IntRange(0, 2).Draw(t, "router") }

func (m *steps) sendSome(t *rapid.T) {
	for _, v := range m.send(drawRouter(t), nil, m.draw(t)...) {
		if v.Outcome == varve.Rejected {
			t.Fatalf("%s", v)
		}
	}
}

// sendSlowly sends a request whose readings are written some time after its arrival. In between,
// another router may write the same readings, and the aggregator may run.
func (m *steps) sendSlowly(t *rapid.T) {
	readings, other := m.draw(t), drawRouter(t)
	twice, counted := rapid.Bool().Draw(t, "twice"), rapid.Bool().Draw(t, "counted")
	while := rapid.SampledFrom([]time.Duration{0, time.Minute, 9 * time.Minute, 35 * time.Minute, 3 * time.Hour, 25 * time.Hour}).Draw(t, "while")
	m.send(drawRouter(t), func() {
		m.clock = m.clock.Add(while)
		if twice {
			m.send(other, nil, readings...)
		}
		if counted {
			m.clock = m.clock.Add(2 * time.Hour)
			m.aggregateSkewed(t)
		}
	}, readings...)
}

func (m *steps) crashAt(t *rapid.T, calls int) {
	m.store.calls, m.store.before = rapid.IntRange(0, calls).Draw(t, "calls"), nil
	m.store.late = rapid.Bool().Draw(t, "late")
}

func (m *steps) heal() { m.store.calls, m.store.before, m.store.down = -1, nil, false }

func (m *steps) sendAndCrash(t *rapid.T) {
	i, readings := drawRouter(t), m.draw(t)
	m.crashAt(t, 7)
	m.send(i, nil, readings...)
	m.heal()
	m.restart(i)
}

// advance lets time pass, often until shortly before or after midnight.
func (m *steps) advance(t *rapid.T) {
	by := rapid.SampledFrom([]time.Duration{
		time.Minute, 10 * time.Minute, 25 * time.Minute, time.Hour, 2 * time.Hour, 6 * time.Hour, 24 * time.Hour, 5 * 24 * time.Hour, 0, 0, 0,
	}).Draw(t, "by")
	if by == 0 {
		near := rapid.SampledFrom([]time.Duration{-12 * time.Minute, -4 * time.Minute, -time.Minute, 0, 3 * time.Minute}).Draw(t, "near")
		by = m.clock.Truncate(24 * time.Hour).Add(24*time.Hour + near).Sub(m.clock)
	}
	m.clock = m.clock.Add(max(by, 0))
}

func drawSkew(t *rapid.T) time.Duration {
	return rapid.SampledFrom([]time.Duration{0, -5 * time.Minute, 5 * time.Minute}).Draw(t, "skew")
}

func (m *steps) aggregateSkewed(t *rapid.T) {
	if _, err := m.aggregator(drawSkew(t)).Run(context.Background()); err != nil && !errors.Is(err, lease.ErrHeld) {
		t.Fatalf("%v", err)
	}
}

// aggregateAndCrash stops an aggregator at a random call. Its lease is not released.
func (m *steps) aggregateAndCrash(t *rapid.T) {
	wk := m.aggregator(drawSkew(t))
	m.crashAt(t, 60)
	_, err := wk.Run(context.Background())
	crashed := m.store.down
	if m.heal(); err != nil && !crashed && !errors.Is(err, lease.ErrHeld) {
		t.Fatalf("%v", err)
	}
}

// meanwhile makes a router send readings just before one of the next calls of the store.
func (m *steps) meanwhile(t *rapid.T, calls int) {
	i, readings := drawRouter(t), m.draw(t)
	m.store.calls = rapid.IntRange(0, calls).Draw(t, "calls")
	m.store.before = func() { m.send(i, nil, readings...) }
}

func (m *steps) aggregateAndSend(t *rapid.T) {
	wk := m.aggregator(drawSkew(t))
	m.meanwhile(t, 60)
	if _, err := wk.Run(context.Background()); err != nil && !errors.Is(err, lease.ErrHeld) {
		t.Fatalf("%v", err)
	}
	m.heal()
}

// readAndSend stores readings during a read. The result must have all readings that were stored
// before the read. It may have the new ones, but none of them twice.
func (m *steps) readAndSend(t *rapid.T) {
	p := rapid.SampledFrom([]rollup.Period{rollup.Hourly, rollup.Daily}).Draw(t, "period")
	kind := rapid.SampledFrom([]string{"pages", "cached fields", "cached pages"}).Draw(t, "kind")
	held := kind == "cached fields"
	for _, device := range devices {
		before := sums(m.expected(device, p))
		m.meanwhile(t, 12)
		var found map[int64]*big.Int
		switch kind {
		case "pages":
			found = numbers(m.read(device, p, 3))
		case "cached fields":
			found = m.fieldSums(device, p)
		case "cached pages":
			w := m.pageWindow()
			found = numbers(m.readPages(device, p, w))
			maps.DeleteFunc(before, func(at int64, _ *big.Int) bool { return !w.Contains(time.Unix(at, 0)) })
		}
		m.heal()
		after := sums(m.expected(device, p))
		for at, sum := range before {
			if (sum.Sign() > 0 || !held) && !within(sum, found[at]) {
				t.Fatalf("%s of %s at %d: %s, without what was stored before: %s\n%s", p, device, at, found[at], sum, m.dump())
			}
		}
		for at, sum := range found {
			if !within(sum, after[at]) {
				t.Fatalf("%s of %s at %d: %s, and only %s was stored\n%s", p, device, at, sum, after[at], m.dump())
			}
		}
	}
}

func sums(periods map[int64][]varve.Reading) map[int64]*big.Int {
	all := map[int64]*big.Int{}
	for at, readings := range periods {
		all[at] = new(big.Int)
		for i := range readings {
			if v := readings[i].Field("v"); v.Kind() == varve.KindNumber {
				n, _ := new(big.Int).SetString(v.String(), 10)
				all[at].Add(all[at], n)
			}
		}
	}
	return all
}

func numbers(list []rollup.Rollup) map[int64]*big.Int {
	found := map[int64]*big.Int{}
	for _, r := range list {
		sum := new(big.Int)
		if f := r.Field("v"); f != nil {
			sum.SetString(plain(&f.Sum), 10)
		}
		found[r.Start.Unix()] = sum
	}
	return found
}

// within reports whether "whole" includes all readings of "part". Both are sums of powers of two,
// one for each reading.
func within(part, whole *big.Int) bool {
	return whole != nil && new(big.Int).AndNot(part, whole).Sign() == 0
}

// finish runs aggregators until no marker remains.
func (m *steps) finish() {
	for range 5 {
		n, err := m.aggregator(0).Run(context.Background())
		if err != nil && !errors.Is(err, lease.ErrHeld) {
			m.t.Fatalf("%v", err)
		}
		if err == nil && n == 0 {
			return
		}
		m.clock = m.clock.Add(time.Hour) // the lease of a stopped process ends
	}
	m.t.Fatalf("markers are left:\n%s", m.dump())
}

// checkStored checks the stored items directly, without a Reader.
func (w *world) checkStored() {
	for _, device := range devices {
		page, err := w.store.Query(context.Background(), itemsOf(device))
		if err != nil {
			w.t.Fatalf("%v", err)
		}
		counts := map[string]int64{}
		for _, it := range page.Items {
			kind, _, _ := strings.Cut(it.SK, "#")
			n, _ := it.Attrs["readings"].Int()
			if counts[kind] += n; kind == "X" || n == 0 && !w.hasCopies(device, it.SK) {
				w.t.Fatalf("left at rest: %s %s %v", it.PK, it.SK, it.Attrs)
			}
		}
		want := int64(0)
		for _, list := range w.expected(device, rollup.Daily) {
			want += int64(len(list))
		}
		if got := fmt.Sprint(counts["H"], counts["D"]); got != fmt.Sprint(want, want) {
			w.t.Fatalf("at rest, hours and days of %s count %s readings, want %d\n%s", device, got, want, w.dump())
		}
	}
}

// hasCopies reports whether the model has copies of readings in the slot of a partial. Only then
// may the partial be empty.
func (w *world) hasCopies(device, sk string) bool {
	for _, c := range w.model {
		for _, r := range c.copies {
			day := r.Arrived.UTC().Format("20060102")
			hour := fmt.Sprintf("H#%010d#%s", r.Time.Unix()/3600*3600, day)
			if r.Device == device && (sk == hour || sk == "D#"+r.Time.UTC().Format("20060102")+"#"+day) {
				return true
			}
		}
	}
	return false
}
