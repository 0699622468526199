package query_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/query"
	"github.com/varvedb/varve/retention"
	"github.com/varvedb/varve/rotator"
	"github.com/varvedb/varve/store"
)

// drawWorld draws a world with readings of two devices in tables of several arrival months. Some readings
// have several copies or equal times, and some have expired.
func drawWorld(t *rapid.T) *world {
	keep := time.Duration(rapid.IntRange(1, 200).Draw(t, "keep")) * day
	old := rapid.SampledFrom([]time.Duration{10 * day, 100 * day, retention.Forever}).Draw(t, "old")
	w := newWorld(t, keep, old, rapid.IntRange(1, 4).Draw(t, "parallel"))
	w.moved = start.Add(-time.Duration(rapid.SampledFrom([]int{0, 15, 60, 300}).Draw(t, "moved")) * day)
	w.store.pages = rapid.SampledFrom([]int{0, 1, 2, 5}).Draw(t, "pages")
	w.more(t, rapid.IntRange(0, 60).Draw(t, "readings"))
	return w
}

// more stores readings that arrived within 200 days before now. It draws from few times and values, so
// that copies of the same reading are likely.
func (w *world) more(t *rapid.T, n int) {
	for range n {
		arrived := w.clock.Add(-time.Duration(rapid.IntRange(0, 200).Draw(t, "arrived")) * day)
		at := start.Add(-time.Duration(rapid.IntRange(-3, 25).Draw(t, "at")) * 9 * day)
		if rapid.IntRange(0, 9).Draw(t, "very late") == 0 {
			at = at.AddDate(-rapid.IntRange(1, 40).Draw(t, "years"), 0, 0)
		}
		if rg, ok := testGrid.Locate(at, grid.MonthOf(arrived)); ok && rapid.IntRange(0, 3).Draw(t, "at an edge") == 0 {
			at = rapid.SampledFrom([]time.Time{rg.Window().From, rg.Window().To.Add(-1), rg.Window().To}).Draw(t, "edge of table")
		}
		if at.After(arrived.Add(testGrid.Future)) {
			at = arrived.Add(testGrid.Future)
		}
		dev := rapid.SampledFrom([]string{"a", "a", "a", "b"}).Draw(t, "device")
		id := rapid.SampledFrom([]string{"", "", "x", "y"}).Draw(t, "id")
		class := retention.DefaultClass
		if arrived.Before(w.moved) {
			class = "old"
		}
		r := reading(dev, at, arrived, id, rapid.Int64Range(0, 2).Draw(t, "value"))
		if len(w.copies) > 0 && rapid.IntRange(0, 3).Draw(t, "corrects") == 0 {
			of := rapid.SampledFrom(w.copies).Draw(t, "corrected").reading
			if of.Time.After(arrived.Add(testGrid.Future)) {
				continue
			}
			r = reading(of.Device, of.Time, arrived, "", rapid.Int64Range(0, 2).Draw(t, "corrected value"))
			r.ID = of.ID.WithVersion(rapid.SampledFrom([]uint32{0, 1, 1, 2, 3, 10}).Draw(t, "version"))
		}
		w.put(t, class, r)
	}
}

func drawQuery(t *rapid.T, w *world) query.Query {
	q := query.Query{
		Series: device("a"), Window: varve.AllTime(),
		Order:      rapid.SampledFrom([]varve.Order{varve.Ascending, varve.Descending}).Draw(t, "order"),
		Limit:      rapid.SampledFrom([]int{0, 1, 2, 3, 10}).Draw(t, "limit"),
		Consistent: rapid.Bool().Draw(t, "consistent"),
		Fields:     rapid.SampledFrom([][]string{nil, {"value"}, {"unit", "value"}, {"absent"}}).Draw(t, "fields"),
	}
	if rapid.Bool().Draw(t, "window") {
		q.Window.From = start.Add(-time.Duration(rapid.IntRange(-30, 300).Draw(t, "from")) * day)
		q.Window.To = q.Window.From.Add(time.Duration(rapid.IntRange(0, 200).Draw(t, "width"))*day + 1)
	}
	if len(w.copies) > 0 && rapid.IntRange(0, 3).Draw(t, "edge") == 0 { // a reading exactly at an end of the window
		at := rapid.SampledFrom(w.copies).Draw(t, "at").reading.Time
		if rapid.Bool().Draw(t, "from it") {
			q.Window = varve.Window{From: at, To: varve.AllTime().To}
		} else {
			q.Window = varve.Window{From: varve.AllTime().From, To: at}
		}
	}
	q.AsOf = drawAsOf(t, w)
	q.Versions = rapid.IntRange(0, 2).Draw(t, "versions") == 0
	return q
}

// drawAsOf draws the zero time or a time that is not in the future. The time is often the arrival
// of a reading, or the end of a month.
func drawAsOf(t *rapid.T, w *world) time.Time {
	at := w.clock.Add(-time.Duration(rapid.IntRange(0, 210*24).Draw(t, "as of")) * time.Hour)
	switch kind := rapid.IntRange(0, 5).Draw(t, "kind of as of"); {
	case kind < 2:
		return time.Time{}
	case kind == 2:
		at = grid.MonthOf(at).Start().Add(rapid.SampledFrom([]time.Duration{-time.Millisecond, 0, time.Millisecond}).Draw(t, "beside a month"))
	case kind < 5 && len(w.copies) > 0:
		at = rapid.SampledFrom(w.copies).Draw(t, "of").reading.Arrived.Add(rapid.SampledFrom([]time.Duration{-time.Millisecond, 0, time.Microsecond}).Draw(t, "beside it"))
	}
	if at.After(w.clock) {
		return w.clock
	}
	return at
}

// check checks a property with more inputs than rapid uses by default.
func check(t *testing.T, property func(*rapid.T)) {
	times := 8
	if testing.Short() {
		times = 5 // in short mode, rapid.Check also runs fewer inputs
	}
	for range times {
		rapid.Check(t, property)
	}
}

// TestPages_AgreeWithOracle compares every page with a search in all readings ever stored. Between
// pages, time passes, readings arrive, and tables are created, retired and dropped. The pages must
// neither repeat nor omit a reading.
func TestPages_AgreeWithOracle(t *testing.T) {
	check(t, func(t *rapid.T) {
		w := drawWorld(t)
		q := drawQuery(t, w)
		for page := 0; ; page++ {
			want, wantMore := w.answer(q)
			got, rows := w.ask(t, q)
			same(t, got, want)
			at, more := rows.More()
			if more != wantMore {
				t.Fatalf("page %d says more: %v, want %v", page, more, wantMore)
			}
			if !more {
				return
			}
			if last := got[len(got)-1]; at != last.Position() {
				t.Fatalf("page %d goes on at %v, not after its last reading %s", page, at, &last)
			}
			text := query.Cursor{Window: q.Window, AsOf: q.AsOf, After: at}.Encode(q.Series, q.Order, "f", "t")
			c, err := query.ParseCursor(text, q.Series, q.Order, "f", "t")
			if err != nil {
				t.Fatalf("page %d: %v", page, err)
			}
			q.Window, q.AsOf, q.After = c.Window, c.AsOf, &c.After
			w.pass(t)
		}
	})
}

// pass sometimes advances the clock, runs the rotator and stores readings.
func (w *world) pass(t *rapid.T) {
	if !rapid.Bool().Draw(t, "passes") {
		return
	}
	w.clock = w.clock.Add(time.Duration(rapid.IntRange(0, 30*24).Draw(t, "hours")) * time.Hour)
	if rapid.Bool().Draw(t, "rotates") {
		w.rotate(t)
	}
	w.more(t, rapid.IntRange(0, 3).Draw(t, "more"))
}

// rotate runs the rotator twice, so that retired tables are dropped.
func (w *world) rotate(t TB) {
	r := rotator.New(rotator.Options{
		Catalog: w.mem, Creator: w.mem, Lifecycle: w.mem, Items: w.mem, Now: w.now, Holder: "r",
		Policy: rotator.Policy{Grid: testGrid, Retention: w.policy, Drop: true, Grace: time.Hour},
	})
	for range 2 {
		if _, err := r.Run(context.Background()); err != nil {
			t.Fatalf("%v", err)
		}
		w.clock = w.clock.Add(time.Hour)
	}
	tables, err := w.mem.Tables(context.Background(), store.Filter{Prefixes: []string{"v", "v-old"}, Window: varve.AllTime(), Fresh: true})
	if err != nil {
		t.Fatalf("%v", err)
	}
	w.copies = slices.DeleteFunc(w.copies, func(c stored) bool {
		return !slices.ContainsFunc(tables, func(in store.Info) bool { return in.Table == c.table })
	})
}

// TestCoverage_ListsTables checks that the coverage lists the tables that were read, the expired
// tables, and the tables that were dropped during the query.
func TestCoverage_ListsTables(t *testing.T) {
	check(t, func(t *rapid.T) {
		w := drawWorld(t)
		q := drawQuery(t, w)
		q.Limit, q.After = 0, nil
		gone := w.retireSome(t)
		want := w.expected(t, q)
		rows, err := w.engine.Open(context.Background(), q)
		if err != nil {
			t.Fatalf("%v", err)
		}
		defer rows.Close()
		for name, tb := range gone { // these tables are dropped while the query runs
			if i := slices.Index(want.Read, name); i >= 0 {
				want.Read = slices.Delete(want.Read, i, i+1)
				want.Missing = append(want.Missing, name)
			}
			w.drop(t, tb)
		}
		got, err := drain(context.Background(), rows)
		if err != nil {
			t.Fatalf("%v", err)
		}
		cover := rows.Coverage()
		for _, c := range []struct {
			what      string
			got, want []string
		}{
			{"read", cover.Read, want.Read}, {"expired", cover.Expired, want.Expired},
			{"missing", cover.Missing, want.Missing}, {"failed", cover.Failed, nil},
		} {
			slices.Sort(c.got)
			slices.Sort(c.want)
			if !slices.Equal(c.got, c.want) {
				t.Fatalf("%s:\n got %v\nwant %v", c.what, c.got, c.want)
			}
		}
		wanted, _ := w.answer(q)
		same(t, got, wanted)
	})
}

// retireSome retires some tables, which stay readable, and returns others to be dropped.
func (w *world) retireSome(t *rapid.T) (gone map[string]grid.Table) {
	gone = map[string]grid.Table{}
	seen := map[grid.Table]bool{}
	for _, c := range slices.Clone(w.copies) {
		if seen[c.table] {
			continue
		}
		seen[c.table] = true
		switch rapid.IntRange(0, 9).Draw(t, "fate") {
		case 0:
			if err := w.mem.Retire(context.Background(), c.table, w.clock); err != nil {
				t.Fatalf("%v", err)
			}
		case 1:
			gone[c.table.Name()] = c.table
		}
	}
	return gone
}

func (w *world) forget(tb grid.Table) {
	w.copies = slices.DeleteFunc(w.copies, func(c stored) bool { return c.table == tb })
}

func (w *world) drop(t TB, tb grid.Table) {
	w.forget(tb)
	if err := w.mem.Retire(context.Background(), tb, w.clock); err != nil {
		t.Fatalf("%v", err)
	}
	if err := w.mem.Drop(context.Background(), tb); err != nil {
		t.Fatalf("%v", err)
	}
}

// expected returns the coverage of a query that is read to its end.
func (w *world) expected(t TB, q query.Query) (want query.Coverage) {
	infos, err := w.mem.Tables(context.Background(), store.Filter{Prefixes: []string{"v", "v-old"}, Window: q.Window, Details: true})
	if err != nil {
		t.Fatalf("%v", err)
	}
	for _, in := range infos {
		class, _ := w.policy.ClassOfPrefix(in.Prefix)
		last := in.Month.End()
		if end := time.Unix(in.End, 0); end.After(last) {
			last = end
		}
		spent := class.Retention != retention.Forever && !last.Add(class.Retention).After(w.clock)
		if spent {
			want.Expired = append(want.Expired, in.Name())
		} else if q.AsOf.IsZero() || !in.Month.Start().After(q.AsOf) && in.Table.Window().From.Sub(q.AsOf) <= grid.MaxFuture {
			want.Read = append(want.Read, in.Name())
		}
	}
	return want
}

// TestRows_MergesManyTables checks that an answer of many batches from many tables is complete
// in both orders, with any size of pages.
func TestRows_MergesManyTables(t *testing.T) {
	for _, pages := range []int{0, 100, 1500} {
		t.Run(fmt.Sprint(pages), func(t *testing.T) {
			w := newWorld(t, 400*day, 400*day, 2)
			w.store.pages = pages
			for i := range 3000 { // ten days, every sixth reading resent in the next month
				at := start.Add(-time.Duration(i) * 5 * time.Minute)
				w.put(t, retention.DefaultClass, reading("a", at, at, "", int64(i%7)))
				if i%6 == 0 {
					w.put(t, retention.DefaultClass, reading("a", at, at.AddDate(0, 1, 0), "", int64(i%7)))
				}
			}
			w.clock = start.AddDate(0, 2, 0)
			for _, order := range []varve.Order{varve.Ascending, varve.Descending} {
				q := query.Query{Series: device("a"), Window: varve.AllTime(), Order: order}
				got, _ := w.ask(t, q)
				want, _ := w.answer(q)
				same(t, got, want)
			}
		})
	}
}
