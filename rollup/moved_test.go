package rollup_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/rollup"
	"github.com/varvedb/varve/store"
)

// turnOfMonth begins a world ten minutes before the month ends.
func turnOfMonth(t *testing.T) *steps {
	w := newWorld(t)
	w.clock = time.Date(2026, 11, 30, 23, 50, 0, 0, time.UTC)
	return &steps{world: w}
}

// TestEarlierCopyComesLater: a reading that arrived in December was counted there
// when a copy is stored that had arrived in November, with a request that took
// its time. It counts once.
func TestEarlierCopyComesLater(t *testing.T) {
	m := turnOfMonth(t)
	r := m.reading("a", m.clock.Add(-time.Minute))
	m.send(0, func() {
		m.clock = m.clock.Add(30 * time.Minute)
		m.send(2, nil, r)
		m.clock = m.clock.Add(3 * time.Hour)
		m.finish()
		m.check("before the copy")
	}, r)
	if len(m.model) != 1 || len(m.model[key(&r)].tables) != 2 {
		t.Fatalf("the test is wrong: %+v", m.model)
	}
	m.check("with the copy")
	m.clock = m.clock.Add(3 * time.Hour)
	m.finish()
	m.check("in the end")
	m.atRest()
}

// TestEarlierCopyComesDuringRead: the same, while roll-ups are read, at any step
// of writing and of reading.
func TestEarlierCopyComesDuringRead(t *testing.T) {
	for _, p := range []rollup.Period{rollup.Hourly, rollup.Daily} {
		for write := range 5 {
			for read := range 10 {
				m := turnOfMonth(t)
				r := m.reading("a", m.clock.Add(-time.Minute))
				q, err := m.routers[0].Admit()
				if err != nil {
					t.Fatal(err)
				}
				m.clock = m.clock.Add(30 * time.Minute)
				m.send(2, nil, r)
				m.clock = m.clock.Add(3 * time.Hour)
				m.finish()

				stopped, goOn, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
				m.store.calls, m.store.before = write, func() { close(stopped); <-goOn }
				go func() {
					done <- q.Write(context.Background(), []varve.Reading{r.Clone()}, make([]varve.Verdict, 1))
				}()
				select {
				case <-stopped:
				case err := <-done:
					t.Fatalf("the write made less than %d calls: %v", write, err)
				}
				ended := false
				m.store.calls, m.store.before = read, func() {
					close(goOn)
					if err := <-done; err != nil {
						t.Error(err)
					}
					ended = true
				}
				got := m.read("a", p, 3)
				m.heal()
				if len(got) != 1 || got[0].Readings != 1 {
					t.Errorf("%s, a write stopped at %d goes on at %d: %+v\n%s", p, write, read, got, m.dump())
				}
				if !ended {
					close(goOn)
					if err := <-done; err != nil {
						t.Error(err)
					}
				}
				q.Done()
			}
		}
	}
}

// TestFirstCopyCounts: of copies with one id and different values, what arrived
// first counts, also at the turn of a month.
func TestFirstCopyCounts(t *testing.T) {
	m := turnOfMonth(t)
	id, err := varve.ParseID("one")
	if err != nil {
		t.Fatal(err)
	}
	at := m.clock.Add(-time.Minute)
	for i := range 3 {
		r := m.reading("a", at)
		r.ID = id
		m.send(0, nil, r)
		for _, p := range []rollup.Period{rollup.Hourly, rollup.Daily} {
			if got := m.read("a", p, 0); len(got) != 1 || got[0].Readings != 1 || got[0].Field("v").Sum.String() != "2" {
				t.Errorf("after %d copies, %s: %+v", i+1, p, got)
			}
		}
		m.clock = m.clock.Add(40 * time.Minute)
	}
}

// TestComesAgainBeforeDrop: a reading that came again on the day on which the
// table of its first copy could be dropped is still known to have come before
// when its hour is counted anew; and the table goes a few days later.
func TestComesAgainBeforeDrop(t *testing.T) {
	m := &steps{world: newWorld(t)}
	r := m.reading("a", m.clock)
	m.send(0, nil, r)
	rotate := func() {
		if _, err := m.rotator.Run(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	m.clock = time.Date(2026, 12, 9, 1, 0, 0, 0, time.UTC)
	m.finish()
	rotate() // retires
	m.clock = m.clock.Add(2 * time.Hour)
	m.send(0, nil, r)
	first := m.model[key(&r)].tables[0]
	there := func() bool {
		infos, err := m.store.Tables(context.Background(), store.Filter{Prefixes: []string{"v"}, Window: varve.AllTime()})
		if err != nil {
			t.Fatal(err)
		}
		return slices.ContainsFunc(infos, func(in store.Info) bool { return in.Table == first })
	}
	m.clock = m.clock.Add(2 * time.Hour)
	m.finish()
	if rotate(); !there() {
		t.Fatal("the table was dropped on the day on which the reading came again")
	}
	m.send(0, nil, r, m.reading("a", r.Time.Add(time.Second)))
	m.check("counted anew")
	m.clock = m.clock.Add(4 * 24 * time.Hour)
	m.finish()
	if rotate(); there() {
		t.Fatal("the table stays")
	}
	m.check("after the drop")
	m.atRest()
}
