package query_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/query"
	"github.com/varvedb/varve/retention"
)

// TestRows_IncludesEdgesOfTables checks readings in the first two and last two nanoseconds of tables in
// two arrival months. The readings must be in order, without repetitions.
func TestRows_IncludesEdgesOfTables(t *testing.T) {
	w := newWorld(t, 500*day, retention.Forever, 1)
	earlier := start.AddDate(0, -1, 0)
	weeks := grid.Policy{}.Ranges(grid.MonthOf(earlier))
	for _, rg := range weeks[1:] { // omits the first range, which begins in 1970
		from, to := rg.Window().From, rg.Window().To
		for i, at := range []time.Time{from, from.Add(1), to.Add(-2), to.Add(-1)} {
			if at.After(earlier) {
				continue
			}
			w.put(t, retention.DefaultClass, reading("a", at, earlier, "", int64(i)))
			w.put(t, retention.DefaultClass, reading("a", at, start, "", int64(i)))
			w.put(t, retention.DefaultClass, reading("a", at, start, "", int64(i+1)))
		}
	}
	for _, order := range []varve.Order{varve.Ascending, varve.Descending} {
		for _, limit := range []int{0, 1, 5} {
			q := query.Query{Series: device("a"), Window: varve.AllTime(), Order: order, Limit: limit}
			got, rows := w.ask(t, q)
			want, _ := w.answer(q)
			if len(want) == 0 || limit == 0 && len(rows.Coverage().Read) < 4 {
				t.Fatal("too little to read", fmt.Sprint(rows.Coverage()))
			}
			same(t, got, want)
		}
	}
}

// TestRows_IncludesEndOfTime checks that the last possible reading is found, although the range
// of its table ends after the last valid nanosecond.
func TestRows_IncludesEndOfTime(t *testing.T) {
	w := newWorld(t, 500*day, retention.Forever, 1)
	last := varve.AllTime().To.Add(-1)
	w.clock = last
	for _, arrived := range []time.Time{last.AddDate(0, 0, -12), last} {
		for i := range 2 {
			at := last.Add(-time.Duration(i))
			w.put(t, retention.DefaultClass, reading("a", at, arrived, "", int64(arrived.Month())))
		}
	}
	for _, order := range []varve.Order{varve.Ascending, varve.Descending} {
		q := query.Query{Series: device("a"), Window: varve.AllTime(), Order: order}
		got, _ := w.ask(t, q)
		want, _ := w.answer(q)
		if len(want) < 2 {
			t.Fatal(len(want))
		}
		same(t, got, want)
	}
	a, err := w.engine.Latest(t.Context(), query.LatestQuery{Series: device("a")})
	if err != nil || !a.Found || !a.Reading.Time.Equal(last) {
		t.Errorf("%v %s", err, show(&a.Reading))
	}
}
