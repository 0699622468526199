package storetest

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/store"
)

func testTablesList(t *testing.T, e *env) {
	month := grid.MonthOf(start)
	var all []grid.Table
	for _, prefix := range []string{"t", "t-long", "t0"} {
		for _, r := range grid.DefaultPolicy().Ranges(month) {
			all = append(all, grid.Table{Prefix: prefix, Range: r, Month: month})
		}
	}
	e.create(t, all...)
	list := func(f store.Filter) []grid.Table {
		f.Fresh = true
		infos, err := e.Tables(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		var tables []grid.Table
		for _, in := range infos {
			tables = append(tables, in.Table)
		}
		return tables
	}
	byName := func(a, b grid.Table) int { return a.Compare(b) }
	pick := func(match func(grid.Table) bool) []grid.Table {
		var some []grid.Table
		for _, tb := range all {
			if match(tb) {
				some = append(some, tb)
			}
		}
		slices.SortFunc(some, byName)
		return some
	}
	day := varve.Window{From: start, To: start.Add(24 * time.Hour)}
	cases := []struct {
		reason string
		filter store.Filter
		want   []grid.Table
	}{
		{"one prefix, not prefixes that extend it", store.Filter{Prefixes: []string{"t"}, Window: varve.AllTime()},
			pick(func(tb grid.Table) bool { return tb.Prefix == "t" })},
		{"two prefixes", store.Filter{Prefixes: []string{"t-long", "t"}, Window: varve.AllTime()},
			pick(func(tb grid.Table) bool { return tb.Prefix != "t0" })},
		{"a day", store.Filter{Prefixes: []string{"t"}, Window: day},
			pick(func(tb grid.Table) bool { return tb.Prefix == "t" && tb.Contains(start) })},
		{"no prefix", store.Filter{Window: varve.AllTime()}, nil},
		{"unknown prefix", store.Filter{Prefixes: []string{"x"}, Window: varve.AllTime()}, nil},
		{"any prefix", store.Filter{Any: true, Window: varve.AllTime()}, pick(func(grid.Table) bool { return true })},
		{"any prefix, some of them named", store.Filter{Any: true, Prefixes: []string{"t0", "x"}, Window: varve.AllTime()},
			pick(func(grid.Table) bool { return true })},
		{"any prefix, a day", store.Filter{Any: true, Window: day}, pick(func(tb grid.Table) bool { return tb.Contains(start) })},
	}
	for _, c := range cases {
		if got := list(c.filter); !slices.Equal(got, c.want) {
			t.Errorf("%s:\n got %v\nwant %v", c.reason, got, c.want)
		}
	}
}

// testTablesSkipEmpty checks that SkipEmpty never omits a table that has a reading.
func testTablesSkipEmpty(t *testing.T, e *env) {
	e.create(t, weekTable(), tableAt(start.AddDate(0, 0, -7), start))
	e.write(t, weekTable(), reading("a", start, "1"))
	infos, err := e.Tables(t.Context(), store.Filter{Prefixes: []string{"t"}, Window: varve.AllTime(), SkipEmpty: true, Fresh: true})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(infos, func(in store.Info) bool { return in.Table == weekTable() }) {
		t.Errorf("SkipEmpty leaves out a table that holds a reading: %v", infos)
	}
}

func testTablesCreate(t *testing.T, e *env) {
	e.create(t, weekTable())
	r := reading("a", start, "1")
	e.write(t, weekTable(), r)
	e.create(t, weekTable()) // succeeds although the table exists, and no reading is lost
	e.expect(t, weekTable(), "a", r)
	in := e.info(t, weekTable())
	if in.Status != store.Active || !in.Owned || in.Tier != store.Hot || !in.Retired.IsZero() || in.Hold != "" {
		t.Errorf("a new table: %+v", in)
	}
	if !e.countsLag && (in.Readings != 1 || in.Bytes <= 0) || in.Created.IsZero() {
		t.Errorf("its numbers: %+v", in)
	}
}

func testTablesStates(t *testing.T, e *env) {
	e.create(t, weekTable())
	ctx := t.Context()
	at := start.Add(time.Hour)
	steps := []struct {
		do   func() error
		want func(store.Info) bool
	}{
		{func() error { return e.Tune(ctx, weekTable(), store.Cold) }, func(in store.Info) bool { return in.Tier == store.Cold }},
		{func() error { return e.Retire(ctx, weekTable(), at) }, func(in store.Info) bool { return in.Retired.Equal(at) }},
		{func() error { return e.Restore(ctx, weekTable()) }, func(in store.Info) bool { return in.Retired.IsZero() }},
		{func() error { return e.Hold(ctx, weekTable(), "case 7") }, func(in store.Info) bool { return in.Hold == "case 7" }},
		{func() error { return e.Hold(ctx, weekTable(), "") }, func(in store.Info) bool { return in.Hold == "" }},
	}
	for i, s := range steps {
		if err := s.do(); err != nil {
			t.Fatalf("step %d: %v", i, err)
		}
		if in := e.info(t, weekTable()); !s.want(in) {
			t.Fatalf("after step %d: %+v", i, in)
		}
	}
	missing := tableAt(start.AddDate(-3, 0, 0), start)
	for i, err := range []error{
		e.Tune(ctx, missing, store.Cold), e.Retire(ctx, missing, at), e.Restore(ctx, missing),
		e.Hold(ctx, missing, "x"), e.Drop(ctx, missing),
	} {
		if !errors.Is(err, store.ErrNoTable) {
			t.Errorf("call %d on a missing table: %v, want ErrNoTable", i, err)
		}
	}
}

func testTablesDrop(t *testing.T, e *env) {
	ctx := t.Context()
	other := tableAt(start.AddDate(0, 0, -7), start)
	e.create(t, weekTable(), other)
	kept := reading("a", start.AddDate(0, 0, -7), "1")
	e.write(t, other, kept)
	e.write(t, weekTable(), reading("a", start, "1"))
	refuse := func(why string) {
		t.Helper()
		if err := e.Drop(ctx, weekTable()); !errors.Is(err, store.ErrRefused) {
			t.Fatalf("drop of a table %s: %v, want ErrRefused", why, err)
		}
	}
	refuse("in use")
	must(t, e.Retire(ctx, weekTable(), start))
	must(t, e.Hold(ctx, weekTable(), "case 7"))
	refuse("on hold")
	isHold(t, e.Drop(ctx, weekTable()), "case 7")
	must(t, e.Hold(ctx, weekTable(), ""))
	must(t, e.Restore(ctx, weekTable()))
	refuse("restored")
	must(t, e.Retire(ctx, weekTable(), start))
	must(t, e.Drop(ctx, weekTable()))
	if infos := e.tables(t); len(infos) != 1 || infos[0].Table != other {
		t.Fatalf("left after the drop: %+v", infos)
	}
	res := e.Write(ctx, []store.Batch{{Table: weekTable(), Readings: []varve.Reading{reading("a", start, "1")}}})
	if !errors.Is(res[0].Err, store.ErrNoTable) {
		t.Fatalf("write to a dropped table: %+v", res)
	}
	// The recreated table is empty.
	e.create(t, weekTable())
	e.expect(t, weekTable(), "a")
	if in := e.info(t, weekTable()); !e.countsLag && in.Readings != 0 || !in.Retired.IsZero() {
		t.Fatalf("recreated: %+v", in)
	}
	e.expect(t, other, "a", kept)
}

// testTablesHold checks that a table on hold cannot be retired or dropped. It must still be
// possible to restore, tune and read it.
func testTablesHold(t *testing.T, e *env) {
	ctx := t.Context()
	e.create(t, weekTable())
	r := reading("a", start, "1")
	e.write(t, weekTable(), r)
	must(t, e.Hold(ctx, weekTable(), "case 7"))
	isHold(t, e.Retire(ctx, weekTable(), start), "case 7")
	if in := e.info(t, weekTable()); !in.Retired.IsZero() {
		t.Errorf("retired although it is on hold: %+v", in)
	}
	must(t, e.Hold(ctx, weekTable(), ""))
	must(t, e.Retire(ctx, weekTable(), start))
	must(t, e.Hold(ctx, weekTable(), "case 8"))
	isHold(t, e.Retire(ctx, weekTable(), start.Add(time.Hour)), "case 8")
	if in := e.info(t, weekTable()); !in.Retired.Equal(start) {
		t.Errorf("retired again although it is on hold: %+v", in)
	}
	e.expect(t, weekTable(), "a", r) // a retired table is readable
	must(t, e.Tune(ctx, weekTable(), store.Cold))
	must(t, e.Restore(ctx, weekTable()))
	if in := e.info(t, weekTable()); !in.Retired.IsZero() || in.Hold != "case 8" || in.Tier != store.Cold {
		t.Errorf("restored on hold: %+v", in)
	}
	e.expect(t, weekTable(), "a", r)
}

func isHold(t *testing.T, err error, why string) {
	t.Helper()
	var hold *store.HoldError
	if !errors.As(err, &hold) || hold.Reason != why || !errors.Is(err, store.ErrRefused) {
		t.Fatalf("%v, want a refusal because of the hold %q", err, why)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func testClosed(t *testing.T, e *env) {
	e.create(t, weekTable())
	must(t, e.Close())
	ctx := t.Context()
	r := store.Range{Table: weekTable(), Series: device("a"), Window: varve.AllTime()}
	_, readErr := e.Read(ctx, r, nil)
	_, _, _, latestErr := e.Latest(ctx, store.Latest{Table: weekTable(), Series: device("a")})
	_, estimateErr := e.Estimate(ctx, r)
	_, seriesErr := e.Series(ctx, store.SeriesQuery{Table: weekTable()})
	_, tablesErr := e.Tables(ctx, store.Filter{Prefixes: []string{"t"}, Window: varve.AllTime()})
	_, getErr := e.Get(ctx, []store.Key{{PK: "a", SK: "b"}}, false)
	_, queryErr := e.Query(ctx, store.ItemQuery{PK: "a"})
	_, absentErr := e.PutAbsent(ctx, []store.Item{{Key: store.Key{PK: "a", SK: "b"}}})
	for name, err := range map[string]error{
		"write":    e.Write(ctx, []store.Batch{{Table: weekTable(), Readings: []varve.Reading{reading("a", start, "1")}}})[0].Err,
		"read":     readErr,
		"latest":   latestErr,
		"estimate": estimateErr,
		"series":   seriesErr,
		"tables":   tablesErr,
		"create":   e.Create(ctx, tableAt(start.AddDate(-1, 0, 0), start), store.Hot),
		"drop":     e.Drop(ctx, weekTable()),
		"get":      getErr,
		"query":    queryErr,
		"put":      e.Put(ctx, store.Item{Key: store.Key{PK: "a", SK: "b"}}),
		"delete":   e.Delete(ctx, store.Key{PK: "a", SK: "b"}),
		"put all":  e.PutAll(ctx, []store.Item{{Key: store.Key{PK: "a", SK: "b"}}}),
		"absent":   absentErr,
		"del. all": e.DeleteAll(ctx, []store.Key{{PK: "a", SK: "b"}}),
	} {
		if !errors.Is(err, store.ErrClosed) {
			t.Errorf("%s after Close: %v, want ErrClosed", name, err)
		}
	}
}
