package rollup_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/rollup"
	"github.com/varvedb/varve/store"
)

func seriesOf(device string) varve.Series {
	return varve.Series{Tenant: "acme", Stream: "weather", Device: device}
}

func (w *world) rollupItems() (list []store.Item) {
	w.t.Helper()
	for _, device := range devices {
		page, err := w.store.Store.Query(context.Background(), itemsOf(device))
		if err != nil || page.More {
			w.t.Fatalf("more %v, %v", page.More, err)
		}
		list = append(list, page.Items...)
	}
	return list
}

// lose deletes the roll-up items with the indexes from <= i < to, and returns the range of their keys.
func (w *world) lose(from, to int) rollup.LostKeys {
	w.t.Helper()
	list := w.rollupItems()[from:to]
	var keys []store.Key
	for i := range list {
		keys = append(keys, list[i].Key)
	}
	if err := w.store.DeleteAll(context.Background(), keys); err != nil {
		w.t.Fatalf("%v", err)
	}
	return rollup.LostKeys{First: keys[0], Last: keys[len(keys)-1]}
}

func (w *world) repair(g rollup.LostKeys, gone ...varve.Window) (all rollup.Repaired) {
	w.t.Helper()
	for _, device := range devices {
		m, err := w.aggregator(0).Repair(context.Background(), seriesOf(device), []rollup.LostKeys{g}, gone)
		if err != nil {
			w.t.Fatalf("%v", err)
		}
		all.Hours, all.Days, all.Lost = all.Hours+m.Hours, all.Days+m.Days, append(all.Lost, m.Lost...)
	}
	return all
}

// fill writes readings of several days, and resends some of them later.
func (w *world) fill(rng *rand.Rand) {
	w.t.Helper()
	var sent []varve.Reading
	for range 24 {
		for _, device := range devices {
			r := w.reading(device, w.clock.Add(-time.Duration(rng.IntN(3000))*time.Minute))
			sent = append(sent, r)
			w.send(rng.IntN(3), nil, r, sent[rng.IntN(len(sent))])
		}
		w.clock = w.clock.Add(time.Duration(rng.IntN(90)) * time.Minute)
	}
}

// TestRepair_RestoresLostItems deletes ranges of partials and markers. After a repair, roll-ups
// must equal a recount of the stored readings.
func TestRepair_RestoresLostItems(t *testing.T) {
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 1))
		w := newWorld(t)
		w.fill(rng)
		if seed%3 > 0 {
			w.clock = w.clock.Add(3 * time.Hour)
			(&steps{world: w}).finish()
		}
		if seed%3 > 1 {
			w.fill(rng) // so that partials and markers exist side by side
		}
		n := len(w.rollupItems())
		from := rng.IntN(n)
		g := w.lose(from, from+1+rng.IntN(n-from))
		m := w.repair(g)
		w.check("mended")
		if len(m.Lost) > 0 {
			t.Errorf("seed %d: %v are said to be lost", seed, m.Lost)
		}
		w.clock = w.clock.Add(3 * time.Hour)
		(&steps{world: w}).finish()
		w.check("at rest")
		w.checkStored()
	}
}

// TestRepair_LeavesCompletePartials repairs roll-ups that have lost nothing. The repair must not
// write.
func TestRepair_LeavesCompletePartials(t *testing.T) {
	w := newWorld(t)
	w.fill(rand.New(rand.NewPCG(1, 1)))
	w.clock = w.clock.Add(3 * time.Hour)
	(&steps{world: w}).finish()
	if m := w.repair(rollup.LostKeys{}); m.Hours+m.Days+len(m.Lost) != 0 {
		t.Errorf("%+v", m)
	}
}

// TestRepair_NamesHoursWithoutReadings repairs hours whose readings are no longer stored.
// Existing partials must remain, and the hours of lost partials must be reported.
func TestRepair_NamesHoursWithoutReadings(t *testing.T) {
	m := endOfMonth(t)
	old := m.clock.Truncate(time.Hour)
	var gone []varve.Reading
	for i := range 3 {
		gone = append(gone, m.reading("a", old.Add(-time.Duration(i)*time.Hour)))
	}
	m.send(0, nil, gone...)
	table := m.model[key(&gone[0])].tables[0]
	m.clock = m.clock.Add(3 * time.Hour)
	m.finish()
	m.dropOf(table)
	fresh := m.clock
	m.send(0, nil, m.reading("a", fresh), m.reading("a", fresh.Add(-time.Hour)))
	m.clock = m.clock.Add(3 * time.Hour)
	m.finish()
	m.check("before")
	items := m.rollupItems()
	at := slices.IndexFunc(items, func(it store.Item) bool { return it.SK[0] == 'H' })
	lost := m.lose(at, at+1) // deletes the partial of the oldest hour
	done := m.repair(lost)
	day := old.Add(-2 * time.Hour).Truncate(24 * time.Hour)
	if want := (varve.Window{From: day, To: day.Add(24 * time.Hour)}); done.Hours+done.Days != 0 || len(done.Lost) != 1 || done.Lost[0] != want {
		t.Errorf("%+v, want %v lost", done, want)
	}
	delete(m.model, key(&gone[2]))
	var got []string
	for _, r := range m.read("a", rollup.Hourly, 0) {
		got = append(got, show(r.Start, &r.Partial))
	}
	m.compare("the other hours", got, m.expected("a", rollup.Hourly))
	// If the partial of the day is also lost, no partial shows which hours had readings. All
	// event times whose readings are gone must then be reported.
	all := m.lose(0, len(m.rollupItems()))
	done = m.repair(all, varve.Window{From: varve.AllTime().From, To: old.Add(time.Hour)})
	if done.Hours != 2 || done.Days == 0 || len(done.Lost) != 1 || done.Lost[0].To != old.Add(time.Hour) {
		t.Errorf("%+v, want what is before %s lost", done, old.Add(time.Hour))
	}
	delete(m.model, key(&gone[0]))
	delete(m.model, key(&gone[1]))
	m.check("in the end")
}
