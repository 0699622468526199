package query_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/query"
	"github.com/varvedb/varve/retention"
)

// TestRows_KeepPageUntilNextCall checks that a page is unchanged until the next call, while
// other queries that share memory begin, continue, fail and end. The store overwrites all memory
// that it receives. So memory that is released too early shows in the values or in the race
// detector.
func TestRows_KeepPageUntilNextCall(t *testing.T) {
	w := newWorld(t, 500*day, retention.Forever, 3)
	w.store.pages = 17
	for i := range 600 {
		at := start.Add(-time.Duration(i) * 5 * time.Hour)
		w.put(t, retention.DefaultClass, reading(fmt.Sprint(i%3), at, at, "", int64(i)))
		if i%4 == 0 && at.AddDate(0, 1, 0).Before(start) {
			w.put(t, retention.DefaultClass, reading(fmt.Sprint(i%3), at, at.AddDate(0, 1, 0), "", int64(i)))
		}
	}
	var wg sync.WaitGroup
	for n := range 6 {
		q := query.Query{
			Series: device(fmt.Sprint(n % 3)), Window: varve.AllTime(),
			Order: varve.Order(n % 2), Limit: []int{0, 150, 0, 40}[n%4],
		}
		if n == 5 {
			q.Fields = []string{"value"}
		}
		want, _ := w.answer(q)
		wg.Go(func() {
			for round := range 8 {
				if round%4 == 3 {
					w.abandon(t, q)
				}
				w.compareLate(t, q, want)
			}
		})
	}
	wg.Wait()
}

// compareLate reads a query to its end. It compares each page right before it requests the next
// one, after other queries ran.
func (w *world) compareLate(t *testing.T, q query.Query, want []varve.Reading) {
	rows, err := w.engine.Open(t.Context(), q)
	if err != nil {
		t.Error(err)
		return
	}
	defer rows.Close()
	n := 0
	for {
		page, err := rows.Next(t.Context())
		if err != nil {
			t.Error(err)
			return
		}
		if len(page) == 0 {
			break
		}
		w.abandon(t, q) // another query with memory of its own
		for i := range page {
			if n == len(want) || !page[i].Equal(&want[n]) {
				t.Errorf("reading %d of %d is %s", n, len(want), show(&page[i]))
				return
			}
			n++
		}
		if n%2 == 0 {
			rows.Release() // like a caller that waits before the next call
			w.abandon(t, q)
		}
	}
	if n != len(want) {
		t.Errorf("%d readings, want %d", n, len(want))
	}
}

func (w *world) abandon(t *testing.T, q query.Query) {
	q.Limit = 0
	rows, err := w.engine.Open(t.Context(), q)
	if err != nil {
		t.Error(err)
		return
	}
	for range 3 {
		if _, err := rows.Next(t.Context()); err != nil {
			t.Error(err)
		}
	}
	rows.Close()
	rows.Close() // a second Close is harmless
	if page, err := rows.Next(t.Context()); err != nil || len(page) > 0 {
		t.Errorf("after Close: %d readings, %v", len(page), err)
	}
}
