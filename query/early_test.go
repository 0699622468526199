package query_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/query"
	"github.com/varvedb/varve/retention"
	"github.com/varvedb/varve/store"
)

// yearly returns a world with a reading every six hours for a year.
func yearly(t *testing.T, parallel int) *world {
	w := newWorld(t, 500*day, 500*day, parallel)
	for i := range 4 * 365 {
		at := start.Add(-time.Duration(i) * 6 * time.Hour)
		w.put(t, retention.DefaultClass, reading("a", at, at, "", int64(i)))
	}
	return w
}

// TestRows_StopsAtLimit queries a year with a limit of 10. The query must read at most three
// tables, all within 21 days of its first reading. The order and the parallelism must not matter.
func TestRows_StopsAtLimit(t *testing.T) {
	for _, parallel := range []int{1, 8} {
		for _, order := range []varve.Order{varve.Ascending, varve.Descending} {
			t.Run(fmt.Sprintf("%s parallel=%d", order, parallel), func(t *testing.T) {
				w := yearly(t, parallel)
				q := query.Query{Series: device("a"), Window: varve.AllTime(), Order: order, Limit: 10}
				w.store.reads = nil
				got, rows := w.ask(t, q)
				want, _ := w.answer(q)
				same(t, got, want)
				if _, more := rows.More(); !more {
					t.Error("there is more")
				}
				all := len(w.expected(t, q).Read)
				if n := len(w.store.reads); n > 3 || all < 50 {
					t.Errorf("read %d tables of %d: %v", n, all, w.store.reads)
				}
				first := want[0].Time
				for tb := range w.store.reads {
					if d := tb.Window().From.Sub(first); d > 21*day || d < -21*day {
						t.Errorf("read %s, and the answer is at %s", tb, first)
					}
				}
			})
		}
	}
}

func TestRows_ReadsOnlyTablesOfWindow(t *testing.T) {
	w := yearly(t, 4)
	q := query.Query{Series: device("a"), Window: varve.Window{From: start.Add(-107 * day), To: start.Add(-100 * day)}}
	w.store.reads = nil
	got, _ := w.ask(t, q)
	if want, _ := w.answer(q); len(want) != 28 {
		t.Fatalf("the oracle has %d readings", len(want))
	} else {
		same(t, got, want)
	}
	for tb := range w.store.reads {
		if !tb.Overlaps(q.Window) {
			t.Errorf("read %s", tb)
		}
	}
}

// endless is a store of tables with very many generated readings. It counts the returned
// readings.
type endless struct {
	*watched
	count   sync.Mutex
	each    int // number of generated readings in each table
	most    int // number of readings in the largest returned page
	handed  int // number of returned readings
	reads   int
	unasked int // number of pages for which the caller gave no memory
}

func (s *endless) Read(_ context.Context, r store.Range, dst []varve.Reading) (store.Page, error) {
	limit := r.Limit
	if limit == 0 {
		limit = 1000
	}
	s.count.Lock()
	defer s.count.Unlock()
	if s.reads++; cap(dst) == 0 {
		s.unasked++
	}
	from, step := r.Table.Start*int64(time.Second), (r.Table.End-r.Table.Start)*int64(time.Second)/int64(s.each)
	i := int64(0)
	if r.After != nil {
		i = (r.After.Time-from)/step + 1
	}
	page := store.Page{Readings: dst[:0]}
	for ; i < int64(s.each); i++ {
		if len(page.Readings) == limit {
			page.More = true
			break
		}
		page.Readings = append(page.Readings, varve.Reading{
			Series: r.Series, Time: time.Unix(0, from+i*step).UTC(), Arrived: r.Table.Month.Start(), ID: varve.HashID(uint64(i)),
		})
	}
	s.most = max(s.most, len(page.Readings))
	s.handed += len(page.Readings)
	return page, nil
}

// TestRows_BoundsMemory reads an answer of half a million readings. With any limit, the answer must
// have only a few pages in memory at a time, and reuse their memory.
func TestRows_BoundsMemory(t *testing.T) {
	for _, limit := range []int{0, 400_000, 100_000_000} {
		t.Run(fmt.Sprintf("limit=%d", limit), func(t *testing.T) {
			w := newWorld(t, 500*day, 500*day, 2)
			from := start.AddDate(0, -6, 0)
			for i := range 24 { // a reading a week, each written in the month of its event time
				at := from.Add(time.Duration(i) * 7 * day)
				w.put(t, retention.DefaultClass, reading("a", at, at, "", 1))
			}
			s := &endless{watched: w.store, each: 20_000}
			engine := query.New(query.Options{
				Reader: s, Catalog: w.store, Streams: w.streams, Policy: w.policy, Now: w.now, Parallel: 2,
			})
			rows, err := engine.Open(t.Context(), query.Query{Series: device("a"), Window: varve.AllTime(), Limit: limit})
			if err != nil {
				t.Fatal(err)
			}
			defer rows.Close()
			returned, held := 0, 0
			for {
				readings, err := rows.Next(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if len(readings) == 0 {
					break
				}
				held = max(held, s.handed-returned)
				returned += len(readings)
			}
			want := 24 * s.each
			if limit > 0 {
				want = min(want, limit)
			}
			if returned != want {
				t.Fatalf("%d readings, want %d", returned, want)
			}
			if held > 20_000 || s.most > 10_000 {
				t.Errorf("%d readings were held at a time, the largest page had %d", held, s.most)
			}
			if s.unasked > 20 || s.reads < 4*s.unasked {
				t.Errorf("%d of %d pages went into new memory", s.unasked, s.reads)
			}
		})
	}
}
