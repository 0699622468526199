package rollup_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/rollup"
	"github.com/varvedb/varve/store"
)

func endOfMonth(t *testing.T) *steps {
	w := newWorld(t)
	w.clock = time.Date(2026, 11, 30, 23, 50, 0, 0, time.UTC)
	return &steps{world: w}
}

// TestRead_EarlierCopyStoredLater counts a reading in December. Then a slow request stores a copy
// that arrived in November. The reading must still count only once.
func TestRead_EarlierCopyStoredLater(t *testing.T) {
	m := endOfMonth(t)
	r := m.reading("a", m.clock.Add(-time.Minute))
	m.send(0, func() {
		m.clock = m.clock.Add(30 * time.Minute)
		m.send(2, nil, r)
		m.clock = m.clock.Add(3 * time.Hour)
		m.finish()
		m.check("before the copy")
	}, r)
	if len(m.model) != 1 || len(m.model[key(&r)].tables) != 2 {
		t.Fatalf("the test is ineffective: %+v", m.model)
	}
	m.check("with the copy")
	m.clock = m.clock.Add(3 * time.Hour)
	m.finish()
	m.check("in the end")
	m.checkStored()
}

// TestRead_HourEmptiedBeforeDay stores a copy with an earlier arrival, so that the partial of a counted
// hour becomes empty. The partials of the day are added up later, because another hour of the day is still
// dirty. All reads must be exact.
func TestRead_HourEmptiedBeforeDay(t *testing.T) {
	m := endOfMonth(t)
	r := m.reading("a", m.clock.Add(-time.Minute))
	m.send(0, func() {
		m.clock = m.clock.Add(30 * time.Minute)
		m.send(2, nil, r)
		m.clock = m.clock.Add(3*time.Hour + 15*time.Minute)
		m.finish()
	}, r)
	m.clock = m.clock.Add(time.Hour)
	m.store.calls = 2
	m.send(1, nil, m.reading("a", r.Time.Add(-5*time.Hour)))
	if !m.store.down {
		t.Fatal("the test is ineffective: the router lives")
	}
	m.heal()
	for range 2 {
		m.clock = m.clock.Add(20 * time.Minute)
		if n, err := m.aggregator(0).Run(t.Context()); err != nil || n == 0 {
			t.Fatalf("%d taken, %v", n, err)
		}
		m.check("counted in part")
		m.clock = m.clock.Add(time.Hour)
	}
	m.finish()
	m.check("in the end")
	m.checkStored()
}

// TestRead_EarlierCopyStoredDuringRead stores a copy with an earlier arrival during a read. The write
// stops before one of its calls of the store, and continues at one of the read's calls, in all
// combinations. The read must count the reading once.
func TestRead_EarlierCopyStoredDuringRead(t *testing.T) {
	for _, p := range []rollup.Period{rollup.Hourly, rollup.Daily} {
		for write := range 5 {
			for read := range 10 {
				m := endOfMonth(t)
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

// TestRead_FirstCopyCounts stores copies of a reading with different values. Only the copy that
// arrived first must count.
func TestRead_FirstCopyCounts(t *testing.T) {
	m := endOfMonth(t)
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

func (w *world) rotate() {
	w.t.Helper()
	if _, err := w.rotator.Run(context.Background()); err != nil {
		w.t.Fatalf("%v", err)
	}
}

func (w *world) tableExists(table grid.Table) bool {
	infos, err := w.store.Tables(context.Background(), store.Filter{Prefixes: []string{"v"}, Window: varve.AllTime()})
	if err != nil {
		w.t.Fatalf("%v", err)
	}
	return slices.ContainsFunc(infos, func(in store.Info) bool { return in.Table == table })
}

// TestRead_ResentEveryDay resends a reading every day, together with a new reading of the same
// hour. The first reading must count once, and the table of its first copy must be dropped when
// it is due.
func TestRead_ResentEveryDay(t *testing.T) {
	m := endOfMonth(t)
	r := m.reading("a", m.clock)
	m.send(0, nil, r)
	first := m.model[key(&r)].tables[0]
	gone := time.Time{}
	for range 12 * 4 {
		m.clock = m.clock.Add(6 * time.Hour)
		if m.clock.Hour() < 6 {
			m.send(0, nil, r, m.reading("a", r.Time.Add(time.Duration(m.made)*time.Second)))
		}
		m.check("before counting")
		m.finish()
		if m.rotate(); gone.IsZero() && !m.tableExists(first) {
			gone = m.clock
		}
		m.check("after")
	}
	m.clock = m.clock.Add(4 * time.Hour)
	m.finish()
	m.checkStored()
	due := first.Window().To.Add(lifetime + rollup.RecountWindow)
	if gone.Before(due) || gone.After(due.Add(12*time.Hour)) {
		t.Errorf("the table went at %s, want %s", gone, due)
	}
	if c := m.model[key(&r)]; len(c.copies) != 2 {
		t.Errorf("the test is ineffective: %d copies", len(c.copies))
	}
}

// TestRead_ResentAfterExpiry resends expired readings, before and after the table of their first
// copies is dropped. Each must count once.
func TestRead_ResentAfterExpiry(t *testing.T) {
	m := endOfMonth(t)
	r := m.reading("a", m.clock)
	m.send(0, nil, r)
	first := m.model[key(&r)].tables[0]
	m.clock = time.Date(2026, 12, 2, 23, 0, 0, 0, time.UTC) // the reading expired at 11:50
	m.finish()
	m.send(0, nil, m.reading("a", r.Time.Add(time.Second)))
	m.check("a new one of its hour")
	m.clock = m.clock.Add(2 * time.Hour)
	m.send(0, nil, r)
	if !m.tableExists(first) || len(m.model[key(&r)].copies) != 2 {
		t.Fatal("the test is ineffective")
	}
	m.check("the first copy is there")
	for range 10 {
		m.clock = m.clock.Add(24 * time.Hour)
		m.finish()
		m.rotate()
		m.check("later")
	}
	if m.tableExists(first) {
		t.Error("the table stays")
	}
	m.clock = m.clock.AddDate(0, 1, 0)
	m.send(0, nil, r)
	if len(m.model[key(&r)].copies) != 3 {
		t.Fatal("the test is ineffective")
	}
	m.check("the first copy is gone")
	m.clock = m.clock.Add(4 * time.Hour)
	m.finish()
	m.checkStored()
}
