package query_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/query"
	"github.com/varvedb/varve/store"
	"pgregory.net/rapid"
)

// TestExplain_ListsTablesInOrder checks that an explanation lists the tables to be read in the
// order of reading, the skipped tables, and the cost. Explain must not read any table.
func TestExplain_ListsTablesInOrder(t *testing.T) {
	check(t, func(t *rapid.T) {
		w := drawWorld(t)
		q := drawQuery(t, w)
		q.Limit = 0
		w.retireSome(t)
		w.store.reads = nil
		x, err := w.engine.Explain(context.Background(), q)
		if err != nil {
			t.Fatalf("%v", err)
		}
		if len(w.store.reads) > 0 {
			t.Fatalf("it read %v", w.store.reads)
		}
		want := w.expected(t, q)
		var got query.Coverage
		var cost store.Cost
		later := 0
		for _, p := range x.Tables {
			cost.Add(p.Cost)
			tb, ok := grid.Parse(p.Name)
			if !ok || !p.From.Equal(tb.Window().From) || !p.To.Equal(tb.Window().To) || p.Month != tb.Month || p.Why == "" {
				t.Fatalf("%+v", p)
			}
			switch p.Action {
			case "read":
				got.Read = append(got.Read, p.Name)
			case "skip":
				if !q.AsOf.IsZero() && strings.Contains(p.Why, "after as_of") {
					later++
					continue
				}
				got.Expired = append(got.Expired, p.Name)
			default:
				t.Fatalf("%+v", p)
			}
		}
		if cost != x.Cost {
			t.Fatalf("the tables cost %+v, all %+v", cost, x.Cost)
		}
		order := slices.Clone(got.Read)
		for _, s := range [][]string{got.Read, got.Expired, want.Read, want.Expired} {
			slices.Sort(s)
		}
		if !slices.Equal(got.Read, want.Read) || !slices.Equal(got.Expired, want.Expired) {
			t.Fatalf("got %+v\nwant %+v", got, want)
		}
		w.store.pages = 0 // one page per table, because the estimate of the in-memory store does not count pages
		_, rows := w.ask(t, q)
		if c := rows.Coverage().AsOf; c == nil != q.AsOf.IsZero() || c != nil && c.LaterTables != later {
			t.Fatalf("the coverage as of %s is %+v, and %d tables are later", q.AsOf, c, later)
		}
		if rows.Cost().Requests != x.Cost.Requests {
			t.Fatalf("it took %+v, and was to take %+v", rows.Cost(), x.Cost)
		}
		if read := rows.Coverage().Read; len(w.store.ranges) > 0 && !slices.Equal(read, order) {
			t.Fatalf("it was to read\n%v\nand read\n%v", order, read)
		}
	})
}

// TestExplain_SkipsDroppedTable checks that Explain skips a table that is dropped while it runs, without
// an error.
func TestExplain_SkipsDroppedTable(t *testing.T) {
	w := yearly(t, 1)
	gone := w.copies[0].table
	w.store.before = func(_ context.Context, _ string, tb grid.Table) error {
		if tb == gone {
			w.drop(t, tb)
		}
		return nil
	}
	x, err := w.engine.Explain(t.Context(), query.Query{Series: device("a"), Window: gone.Window()})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range x.Tables {
		if (p.Name == gone.Name()) != (p.Action == "skip") {
			t.Errorf("%+v", p)
		}
	}
	if len(x.Tables) == 0 {
		t.Error("nothing is explained")
	}
}
