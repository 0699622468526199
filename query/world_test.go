package query_test

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/query"
	"github.com/varvedb/varve/retention"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/mem"
	"github.com/varvedb/varve/streams"
)

const day = 24 * time.Hour

// start is the initial time of a world's clock.
var start = time.Date(2026, 11, 16, 12, 0, 0, 0, time.UTC)

// testGrid has few tables, so that many readings share one.
var testGrid = grid.Policy{Future: 10 * day, Recent: 2, Doubling: 60 * day}

// TB has the methods that tests and rapid properties share.
type TB interface {
	Helper()
	Fatalf(format string, args ...any)
}

// world is a query engine over a store in memory, with a record of all stored readings.
type world struct {
	clock   time.Time
	mem     *mem.Store
	store   *watched
	policy  *retention.Policy
	streams *streams.Registry
	engine  *query.Engine
	copies  []stored
	moved   time.Time // before this time, the stream was in the class named old
}

type stored struct {
	table   grid.Table
	reading varve.Reading
}

// newWorld returns a world in which the stream weather was first in the class named old.
func newWorld(t TB, keep, old time.Duration, parallel int) *world {
	t.Helper()
	w := &world{clock: start, policy: &retention.Policy{
		Prefix:  "v",
		Classes: []retention.Class{{Name: retention.DefaultClass, Retention: keep}, {Name: "old", Retention: old}},
	}}
	if err := w.policy.Validate(); err != nil {
		t.Fatalf("%v", err)
	}
	w.mem = mem.New(w.now)
	w.store = &watched{Store: w.mem}
	w.streams = streams.New(w.mem, w.now)
	if _, err := w.streams.Register(context.Background(), varve.DefaultTenant, "weather", "old", 0); err != nil {
		t.Fatalf("%v", err)
	}
	w.engine = query.New(query.Options{
		Reader: w.store, Catalog: w.store, Streams: w.streams, Policy: w.policy, Now: w.now,
		Parallel: parallel,
	})
	return w
}

func (w *world) now() time.Time { return w.clock }

func device(name string) varve.Series {
	return varve.Series{Tenant: varve.DefaultTenant, Stream: "weather", Device: name}
}

// reading returns a reading. If id is empty, the reading has its content id.
func reading(dev string, at, arrived time.Time, id string, value int64) varve.Reading {
	r := varve.Reading{Series: device(dev), Time: at, Arrived: arrived, Fields: []varve.Field{
		{Name: "unit", Value: varve.StringValue("C")}, {Name: "value", Value: varve.IntValue(value)},
	}}
	if id != "" {
		var err error
		if r.ID, err = varve.ParseID(id); err != nil {
			panic(err)
		}
	}
	if v := r.Normalize(); v.Outcome == varve.Rejected {
		panic(v.String())
	}
	return r
}

// put stores a reading in its table, which it creates if needed.
func (w *world) put(t TB, class string, r varve.Reading) grid.Table {
	t.Helper()
	return w.putOn(t, testGrid, class, r)
}

// putOn is like put, but the table is one of the given grid.
func (w *world) putOn(t TB, layout grid.Policy, class string, r varve.Reading) grid.Table {
	t.Helper()
	month := grid.MonthOf(r.Arrived)
	rg, ok := layout.Locate(r.Time, month)
	if !ok {
		t.Fatalf("no table holds %s", &r)
	}
	tb := grid.Table{Prefix: w.policy.TablePrefix(class), Range: rg, Month: month}
	if err := w.mem.Create(context.Background(), tb, store.Warm); err != nil {
		t.Fatalf("%v", err)
	}
	res := w.mem.Write(context.Background(), []store.Batch{{Table: tb, Readings: []varve.Reading{r}}})
	if res[0].Err != nil {
		t.Fatalf("%v", res[0].Err)
	}
	if res[0].Verdicts[0].Outcome == varve.Stored {
		w.copies = append(w.copies, stored{tb, r.Clone()})
	}
	return tb
}

// distinct is the oracle for live readings. It returns the distinct readings of a device,
// ascending. Of several live copies, it returns the one that arrived first.
func (w *world) distinct(s varve.Series) []varve.Reading { return w.distinctAsOf(s, time.Time{}) }

// distinctAsOf is like distinct, but ignores copies that arrived after "asOf". The zero time means no limit.
func (w *world) distinctAsOf(s varve.Series, asOf time.Time) []varve.Reading {
	return w.first(s, func(c *stored) bool {
		if !asOf.IsZero() && c.reading.Arrived.After(asOf) {
			return false
		}
		class, _ := w.policy.ClassOfPrefix(c.table.Prefix)
		cutoff := w.clock.Add(-class.Retention)
		return class.Retention == retention.Forever || c.reading.Time.After(cutoff) || c.reading.Arrived.After(cutoff)
	})
}

// all is the oracle for all readings, including expired ones.
func (w *world) all(s varve.Series) []varve.Reading {
	return w.first(s, func(*stored) bool { return true })
}

// first returns the distinct readings of a device, ascending. It considers only copies for which
// the function "counts" returns true. Of several such copies, it returns the one that arrived
// first.
func (w *world) first(s varve.Series, counts func(*stored) bool) []varve.Reading {
	found := map[varve.Position]varve.Reading{}
	for _, c := range w.copies {
		if c.reading.Series != s || !counts(&c) {
			continue
		}
		at := c.reading.Position()
		if f, ok := found[at]; !ok || c.reading.Arrived.Before(f.Arrived) {
			found[at] = c.reading
		}
	}
	var all []varve.Reading
	for _, r := range found {
		all = append(all, r.Clone())
	}
	slices.SortFunc(all, func(a, b varve.Reading) int { return a.Position().Compare(b.Position()) })
	return all
}

// answer returns the oracle's answer to a query, and whether the limit cut it short.
func (w *world) answer(q query.Query) (want []varve.Reading, more bool) {
	all, after := w.distinctAsOf(q.Series, q.AsOf), q.After
	if !q.Versions {
		all = newest(all)
		if after != nil {
			end := varve.Position{Time: after.Time, ID: after.ID.WithVersion(0)}
			if q.Order == varve.Ascending {
				end.ID = end.ID.WithVersion(varve.MaxVersion + 1)
			}
			after = &end
		}
	}
	if q.Order == varve.Descending {
		slices.Reverse(all)
	}
	for _, r := range all {
		if !q.Window.Contains(r.Time) {
			continue
		}
		if after != nil {
			if c := r.Position().Compare(*after); c == 0 || (c > 0) == (q.Order == varve.Descending) {
				continue
			}
		}
		want = append(want, project(r, q.Fields))
	}
	if q.Limit > 0 && len(want) > q.Limit {
		return want[:q.Limit], true
	}
	return want, false
}

// newest returns the readings of a sorted list that have no higher version in it.
func newest(all []varve.Reading) (list []varve.Reading) {
	for i, r := range all {
		if i+1 == len(all) || all[i+1].Time != r.Time || all[i+1].ID.String() != r.ID.String() {
			list = append(list, r)
		}
	}
	return list
}

func project(r varve.Reading, fields []string) varve.Reading {
	if len(fields) > 0 {
		r.Fields = slices.DeleteFunc(slices.Clone(r.Fields), func(f varve.Field) bool { return !slices.Contains(fields, f.Name) })
	}
	return r
}

func drain(ctx context.Context, rows *query.Rows) (all []varve.Reading, err error) {
	for {
		readings, err := rows.Next(ctx)
		if err != nil || len(readings) == 0 {
			return all, err
		}
		for i := range readings {
			all = append(all, readings[i].Clone())
		}
	}
}

func (w *world) ask(t TB, q query.Query) ([]varve.Reading, *query.Rows) {
	t.Helper()
	rows, err := w.engine.Open(context.Background(), q)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	defer rows.Close()
	got, err := drain(context.Background(), rows)
	if err != nil {
		t.Fatalf("next: %v", err)
	}
	return got, rows
}

func show(r *varve.Reading) string {
	s := fmt.Sprintf("%s arrived %s", r, r.Arrived.Format(time.RFC3339))
	for _, f := range r.Fields {
		s += " " + f.Name + "=" + f.Value.String()
	}
	return s
}

// same fails the test unless both lists have equal readings in the same order.
func same(t TB, got, want []varve.Reading) {
	t.Helper()
	for i := range min(len(got), len(want)) {
		if !got[i].Equal(&want[i]) {
			t.Fatalf("reading %d of %d:\n got %s\nwant %s", i, len(want), show(&got[i]), show(&want[i]))
		}
	}
	if len(got) != len(want) {
		t.Fatalf("got %d readings, want %d", len(got), len(want))
	}
}
