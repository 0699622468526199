package query_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/query"
	"github.com/varvedb/varve/retention"
)

func bulky(dev string, at time.Time, size int) varve.Reading {
	r := reading(dev, at, at, "", 1)
	r.ID = varve.ID{}
	r.Fields = append(r.Fields, varve.Field{Name: "z", Value: varve.StringValue(strings.Repeat("z", size))})
	if v := r.Normalize(); v.Outcome == varve.Rejected {
		panic(v.String())
	}
	return r
}

// TestNext_LimitsSizeOfPages checks that each Next returns at most 1.5 MiB. Once the size of
// readings is known, a read must request at most 3 MiB. The answer must be complete.
func TestNext_LimitsSizeOfPages(t *testing.T) {
	const size, n = 50 << 10, 400
	for _, copies := range []bool{false, true} {
		w := newWorld(t, 400*day, 400*day, 2)
		dev := fmt.Sprint("large", copies)
		for i := range n {
			r := bulky(dev, start.Add(-time.Duration(i)*time.Minute), size)
			w.put(t, retention.DefaultClass, r)
			if copies {
				r.Arrived = r.Arrived.AddDate(0, 1, 0)
				w.put(t, retention.DefaultClass, r)
			}
		}
		w.clock = start.AddDate(0, 2, 0)
		for round, order := range []varve.Order{varve.Ascending, varve.Descending} {
			w.store.ranges = nil
			rows, err := w.engine.Open(t.Context(), query.Query{Series: device(dev), Window: varve.AllTime(), Order: order})
			if err != nil {
				t.Fatal(err)
			}
			got := 0
			for {
				page, err := rows.Next(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if len(page) == 0 {
					break
				}
				if got += len(page); len(page)*size > 3<<19 {
					t.Errorf("%d readings of %d bytes at once", len(page), size)
				}
			}
			rows.Close()
			if got != n {
				t.Errorf("%s: %d readings, want %d", order, got, n)
			}
			for i, rg := range w.store.ranges {
				known := i > 1 || round > 0
				if rg.Limit == 0 || rg.Limit > 128 || known && rg.Limit*size > 3<<20 {
					t.Errorf("%s: page %d is of up to %d readings", order, i, rg.Limit)
				}
			}
		}
	}
}

// TestNext_ReturnsLargePagesOfSmallReadings checks that the first query of small readings reads at most
// two pages. A second query, which knows the size of the readings, must read only one.
func TestNext_ReturnsLargePagesOfSmallReadings(t *testing.T) {
	w := newWorld(t, 400*day, 400*day, 1)
	for i := range 1440 {
		at := start.Add(-time.Duration(i) * time.Second)
		w.put(t, retention.DefaultClass, reading("small", at, at, "", int64(i)))
	}
	q := query.Query{Series: device("small"), Window: varve.AllTime()}
	for round, most := range []int{2, 1} {
		w.store.ranges = nil
		if got, _ := w.ask(t, q); len(got) != 1440 {
			t.Errorf("%d readings", len(got))
		}
		if got := len(w.store.ranges); got > most {
			t.Errorf("round %d: %d pages", round, got)
		}
	}
}
