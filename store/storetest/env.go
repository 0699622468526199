package storetest

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/decimal"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/store"
)

// start is the initial time of the suite's clock. It is a Monday in the middle of a month. It is in
// the future, because DynamoDB Local deletes expired items by its own clock.
var start = time.Date(2082, 11, 16, 12, 0, 0, 0, time.UTC)

// env is the store under test with its clock.
type env struct {
	store.Store
	clock     time.Time
	countsLag bool // whether the store has the trait CountsLag
}

// weekTable returns the table for readings whose event time and arrival are start.
func weekTable() grid.Table { return tableAt(start, start) }

func tableAt(at, arrived time.Time) grid.Table {
	month := grid.MonthOf(arrived)
	r, ok := grid.DefaultPolicy().Locate(at, month)
	if !ok {
		panic(fmt.Sprintf("no table for %s", at))
	}
	return grid.Table{Prefix: "t", Range: r, Month: month}
}

func device(name string) varve.Series {
	return varve.Series{Tenant: "acme", Stream: "weather", Device: name}
}

// number parses a number. It panics if the text is invalid.
func number(s string) varve.Value {
	n, err := decimal.Parse(s)
	if err != nil {
		panic(err)
	}
	return varve.NumberValue(n)
}

func reading(dev string, at time.Time, value string) varve.Reading {
	return with(dev, at, varve.Field{Name: "value", Value: number(value)})
}

func with(dev string, at time.Time, fields ...varve.Field) varve.Reading {
	r := varve.Reading{Series: device(dev), Time: at, Arrived: start, Fields: fields}
	normalize(&r)
	return r
}

// named returns a reading with the given id in place of its own.
func named(r varve.Reading, id string) varve.Reading {
	parsed, err := varve.ParseID(id)
	if err != nil {
		panic(err)
	}
	r.ID = parsed
	return r
}

func arrived(r varve.Reading, at time.Time) varve.Reading {
	r.Arrived = at
	return r
}

func normalize(r *varve.Reading) {
	if v := r.Normalize(); v.Outcome == varve.Rejected {
		panic(v.String())
	}
}

func (e *env) create(t *testing.T, tables ...grid.Table) {
	t.Helper()
	for _, tb := range tables {
		if err := e.Create(t.Context(), tb, store.Hot); err != nil {
			t.Fatalf("create %s: %v", tb, err)
		}
	}
}

// write writes readings to one table. It returns one letter per verdict: s for stored, d for
// duplicate, c for conflict, r for rejected.
func (e *env) write(t *testing.T, tb grid.Table, readings ...varve.Reading) string {
	t.Helper()
	verdicts := make([]varve.Verdict, len(readings))
	for i := range verdicts { // the store must overwrite these old verdicts
		verdicts[i] = varve.Reject(varve.CodeConflict, "a verdict of an earlier write")
	}
	res := e.Write(t.Context(), []store.Batch{{Table: tb, Readings: readings, Verdicts: verdicts}})
	if len(res) != 1 || res[0].Err != nil {
		t.Fatalf("write to %s: %+v", tb, res)
	}
	return letters(res[0].Verdicts)
}

func letters(verdicts []varve.Verdict) string {
	var s []byte
	for _, v := range verdicts {
		letter := v.Outcome.String()[0]
		if v.Code == varve.CodeConflict {
			letter = 'c'
		}
		s = append(s, letter)
	}
	return string(s)
}

// all returns all readings of a range. It reads them page by page.
func (e *env) all(ctx context.Context, r store.Range) ([]varve.Reading, error) {
	var got []varve.Reading
	r.Consistent = true
	split := false
	for {
		page, err := e.Read(ctx, r, nil)
		if err != nil {
			return nil, err
		}
		if len(page.Readings) > 0 && r.After != nil && !split && page.Readings[0].Position().IsVersionOf(*r.After) {
			return nil, fmt.Errorf("page before %s is split, and Split is not set", &page.Readings[0])
		}
		if split = page.Split; split && !page.More {
			return nil, fmt.Errorf("page %+v has Split without More", page)
		}
		got = append(got, page.Readings...)
		if !page.More {
			return got, nil
		}
		if len(page.Readings) == 0 {
			return nil, fmt.Errorf("a page with More and no readings")
		}
		last := page.Readings[len(page.Readings)-1].Position()
		r.After = &last
	}
}

// expect checks that a table has exactly the wanted readings of a device, in both orders.
func (e *env) expect(t *testing.T, tb grid.Table, dev string, want ...varve.Reading) {
	t.Helper()
	r := store.Range{Table: tb, Series: device(dev), Window: varve.AllTime()}
	got, err := e.all(t.Context(), r)
	if err != nil {
		t.Fatalf("read %s: %v", tb, err)
	}
	same(t, got, want)
	r.Order = varve.Descending
	if got, err = e.all(t.Context(), r); err != nil {
		t.Fatalf("read %s descending: %v", tb, err)
	}
	slices.Reverse(got)
	same(t, got, want)
}

// same checks that readings are exactly equal, including the scale of numbers.
func same(t *testing.T, got, want []varve.Reading) {
	t.Helper()
	for i := range min(len(got), len(want)) {
		if g, w := show(&got[i]), show(&want[i]); g != w {
			t.Fatalf("reading %d of %d:\n got %s\nwant %s", i, len(want), g, w)
		}
	}
	if len(got) != len(want) {
		t.Fatalf("got %d readings, want %d", len(got), len(want))
	}
}

func show(r *varve.Reading) string {
	s := fmt.Sprintf("%s %d %s arrived %d", r.Series, r.Time.UnixNano(), r.ID, r.Arrived.UnixMilli())
	for _, f := range r.Fields {
		s += fmt.Sprintf(" %q=%s(%s)", f.Name, f.Value.Kind(), f.Value)
	}
	return s
}
