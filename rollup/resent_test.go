package rollup_test

import (
	"fmt"
	"math/big"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/decimal"
	"github.com/varvedb/varve/rollup"
)

// perField is the number of readings that share a field. Reading i has the number 4^(i mod
// perField). So the sum of a field shows how often each reading counts, up to three times.
const perField = 60

func fieldOf(i int) string { return fmt.Sprint("v", i/perField) }

func worth(i int) *big.Int { return new(big.Int).Lsh(big.NewInt(1), uint(2*(i%perField))) }

// backlog returns n readings whose event times are spread evenly over an hour.
func backlog(t TB, hour time.Time, n int) []varve.Reading {
	list := make([]varve.Reading, n)
	for i := range list {
		v, err := decimal.Parse(worth(i).String())
		if err != nil {
			t.Fatalf("%v", err)
		}
		list[i] = varve.Reading{
			Series: varve.Series{Tenant: "acme", Stream: "weather", Device: "a"}, Time: hour.Add(time.Duration(i) * time.Hour / time.Duration(n)),
			Fields: []varve.Field{{Name: fieldOf(i), Value: varve.NumberValue(v)}},
		}
		if v := list[i].Normalize(); v.Outcome == varve.Rejected {
			t.Fatalf("%s", v)
		}
	}
	return list
}

func pick(all []varve.Reading, chosen func(i int) bool) (list []varve.Reading) {
	for i := range all {
		if chosen(i) {
			list = append(list, all[i])
		}
	}
	return list
}

// times returns how often each of n readings counts in the only roll-up of a device.
func (w *world) times(p rollup.Period, n int) []int {
	w.t.Helper()
	times, total := make([]int, n), 0
	got := w.read("a", p, 0)
	if len(got) > 1 {
		w.t.Fatalf("%d roll-ups, want one", len(got))
	}
	for i := range times {
		if len(got) == 0 {
			break
		}
		if f := got[0].Field(fieldOf(i)); f != nil {
			sum, _ := new(big.Int).SetString(plain(&f.Sum), 10)
			digit := new(big.Int).And(sum.Rsh(sum, uint(2*(i%perField))), big.NewInt(3))
			times[i] = int(digit.Int64())
			total += times[i]
		}
	}
	if len(got) > 0 && int64(total) != got[0].Readings {
		w.t.Fatalf("%d readings, of which the sums have %d", got[0].Readings, total)
	}
	return times
}

// wrong returns the number of chosen readings that do not count, and the number of excess counts. A
// count is in excess if a chosen reading counts once more, or if another reading counts.
func (w *world) wrong(p rollup.Period, n int, chosen func(i int) bool) (missing, double int) {
	w.t.Helper()
	for i, times := range w.times(p, n) {
		want := 0
		if chosen(i) {
			want = 1
		}
		missing, double = missing+max(0, want-times), double+max(0, times-want)
	}
	return missing, double
}

// resentCase is a test with an hour of n readings. Two parts of the hour are sent in different
// months.
type resentCase struct {
	name            string
	n               int
	first, second   func(i int) bool
	missing, double int // results after a drop: missing readings with IgnoreResent, double readings with CountResent
}

// TestResent_CountsAsConfigured sends a part of an hour, and another part in a later month, before
// or after the first copies are dropped. Readings may be missing or count twice only after a drop,
// in minutes with many readings, if the second part differs from the first.
func TestResent_CountsAsConfigured(t *testing.T) {
	all := func(int) bool { return true }
	below := func(n int) func(int) bool { return func(i int) bool { return i < n } }
	from := func(n int) func(int) bool { return func(i int) bool { return i >= n } }
	but := func(k int) func(int) bool { return func(i int) bool { return i%8 != k } }
	only := func(k int) func(int) bool { return func(i int) bool { return i%8 == k } }
	even := func(i int) bool { return i/8%2 == 0 }
	odd := func(i int) bool { return !even(i) }
	for _, c := range []resentCase{
		{"whole", 60, all, all, 0, 0},
		{"the second half", 60, all, from(30), 0, 0},
		{"every eighth", 60, all, only(3), 0, 0},
		{"with those that were missing", 60, but(3), all, 0, 0},
		{"only those that were missing", 60, but(3), only(3), 0, 0},
		{"mostly others", 120, below(64), from(56), 0, 0},
		{"with fewer fingerprints than readings", 480, below(120), all, 0, 0},
		{"whole, many", 480, all, all, 0, 0},
		{"many, of other minutes", 480, even, odd, 0, 0},
		{"many, with other minutes", 480, even, all, 0, 0},
		{"many, from a minute's beginning", 480, all, from(240), 0, 0},
		{"many, to a minute's middle and then all", 480, below(244), all, 0, 0},
		{"many, from a minute's middle", 480, all, from(244), 0, 4},
		{"many, with those that were missing", 480, but(3), all, 60, 420},
		{"many, only those that were missing", 480, but(3), only(3), 60, 0},
		{"many, with those that were missing at each minute's end", 480, but(7), all, 0, 0},
	} {
		for _, resent := range []rollup.Resent{rollup.IgnoreResent, rollup.CountResent} {
			for _, dropped := range []bool{false, true} {
				c.check(t, resent, dropped)
			}
		}
	}
}

// check sends both parts and checks the roll-ups. If the argument "dropped" is true, the table of the
// first part is dropped before the second part is sent.
func (c *resentCase) check(t *testing.T, resent rollup.Resent, dropped bool) {
	t.Helper()
	w := newWorld(t)
	w.resent = resent
	m := &steps{world: w}
	hour := time.Date(2026, 11, 28, 8, 0, 0, 0, time.UTC)
	m.clock = hour.Add(time.Hour)
	readings := backlog(t, hour, c.n)
	m.send(0, nil, pick(readings, c.first)...)
	m.clock = m.clock.Add(3 * time.Hour)
	m.finish()
	m.clock = time.Date(2026, 12, 2, 8, 0, 0, 0, time.UTC)
	missing, double := 0, 0
	if dropped {
		r := pick(readings, c.first)[0]
		m.dropOf(m.model[key(&r)].tables[0])
		missing, double = c.missing, 0
		if resent == rollup.CountResent {
			missing, double = 0, c.double
		}
	}
	m.send(0, nil, pick(readings, c.second)...)
	for range 2 {
		for _, p := range []rollup.Period{rollup.Hourly, rollup.Daily} {
			gotMissing, gotDouble := m.wrong(p, c.n, func(i int) bool { return c.first(i) || c.second(i) })
			if gotMissing != missing || gotDouble != double {
				t.Errorf("%s, %s, first table dropped %v, %s: %d missing, %d twice; want %d and %d",
					c.name, resent, dropped, p, gotMissing, gotDouble, missing, double)
			}
		}
		m.clock = m.clock.Add(3 * time.Hour)
		m.finish()
	}
}

// TestResent_NeverExceedsSetting sends random parts of an hour in several months. The partials may
// lack their sketches, which identify readings. With IgnoreResent, no reading may count twice. With
// CountResent, none may be missing. With few readings and with sketches, each must count once.
func TestResent_NeverExceedsSetting(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		w.resent = rapid.SampledFrom([]rollup.Resent{rollup.IgnoreResent, rollup.CountResent}).Draw(t, "resent")
		m := &steps{world: w}
		hour := time.Date(2026, 11, 28, 8, 0, 0, 0, time.UTC)
		m.clock = hour.Add(time.Hour)
		n := rapid.SampledFrom([]int{6, 60, 128, 130, 240}).Draw(t, "readings")
		readings, sent, older := backlog(t, hour, n), make([]bool, n), false
		for range rapid.IntRange(2, 3).Draw(t, "sendings") {
			chosen := drawPart(t, n)
			part := pick(readings, chosen)
			m.send(0, nil, part...)
			for i := range sent {
				sent[i] = sent[i] || chosen(i)
			}
			m.checkBounds(n, sent, n <= 128 && !older)
			m.clock = m.clock.Add(3 * time.Hour)
			m.finish()
			m.checkBounds(n, sent, n <= 128 && !older)
			if rapid.IntRange(0, 3).Draw(t, "older") == 0 {
				m.dropSketches("a")
				older = true
			}
			if r := part[0]; rapid.Bool().Draw(t, "gone") {
				tables := m.model[key(&r)].tables
				m.dropOf(tables[len(tables)-1])
			} else {
				m.clock = m.clock.AddDate(0, 1, 0)
			}
		}
	})
}

// drawPart draws a part of n readings: all of them, a range, every k-th one, or a random set.
func drawPart(t *rapid.T, n int) func(i int) bool {
	from := rapid.IntRange(0, n-1).Draw(t, "from")
	to := rapid.IntRange(from+1, n).Draw(t, "to")
	every := rapid.IntRange(2, 9).Draw(t, "every")
	seed := rapid.Uint64().Draw(t, "seed")
	switch rapid.IntRange(0, 4).Draw(t, "part") {
	case 0:
		return func(int) bool { return true }
	case 1:
		return func(i int) bool { return from <= i && i < to }
	case 2:
		return func(i int) bool { return i%every == from%every || i == from }
	case 3:
		return func(i int) bool { return i%every != from%every || i == from }
	}
	return func(i int) bool { return i == from || (seed>>(i%64))&1 == 1 }
}

// checkBounds checks how often each of n readings counts, given which of them were sent.
func (m *steps) checkBounds(n int, sent []bool, exact bool) {
	m.t.Helper()
	for _, p := range []rollup.Period{rollup.Hourly, rollup.Daily} {
		missing, double := m.wrong(p, n, func(i int) bool { return sent[i] })
		if (exact || m.resent == rollup.IgnoreResent) && double > 0 || (exact || m.resent == rollup.CountResent) && missing > 0 {
			m.t.Fatalf("%s, %s: %d missing, %d twice\n%s", m.resent, p, missing, double, m.dump())
		}
	}
}
