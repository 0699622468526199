package storetest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/mem"
)

// Subject is a store that is compared with the model.
type Subject interface {
	store.Store
	// Reopen closes and reopens the store, or simulates a crash and recovers. If the state is in
	// another service, Reopen does nothing.
	Reopen() error
}

// Compare applies random sequences of operations to a new subject and to the model.
//
// The results of each operation must agree. After each operation, the tables and all of their readings
// must agree, too.
func Compare(t *testing.T, open func(t *rapid.T, now func() time.Time) Subject, traits ...Trait) {
	rapid.Check(t, func(t *rapid.T) {
		m := &machine{clock: start, countsLag: slices.Contains(traits, CountsLag)}
		now := func() time.Time { return m.clock }
		m.model, m.subject = mem.New(now), open(t, now)
		defer func() {
			if err := m.subject.Close(); err != nil {
				t.Fatal(err)
			}
		}()
		for _, at := range []time.Time{start, start.AddDate(0, 0, -7), start.AddDate(0, -3, 0)} {
			m.all = append(m.all, tableAt(at, start), tableAt(at, start.AddDate(0, 1, 0)))
		}
		m.layout = store.Layout{
			RowWindow:   rapid.SampledFrom([]time.Duration{0, time.Minute, time.Hour}).Draw(t, "row window"),
			Shards:      rapid.SampledFrom([]int{0, 3}).Draw(t, "shards"),
			Expect:      rapid.SampledFrom([]store.Expect{store.ExpectAuto, store.ExpectNew, store.ExpectExisting}).Draw(t, "expect"),
			DeleteAfter: rapid.SampledFrom([]time.Duration{0, 200 * 365 * 24 * time.Hour}).Draw(t, "delete after"),
		}
		t.Repeat(map[string]func(*rapid.T){
			"write":      m.write,
			"write ":     m.write, // doubles the probability of a write
			"read":       m.read,
			"latest":     m.latest,
			"create":     m.create,
			"change":     m.changeTable,
			"drop":       m.drop,
			"erase":      m.erase,
			"put":        m.put,
			"delete":     m.delete,
			"put all":    m.putAll,
			"put absent": m.putAbsent,
			"delete all": m.deleteAll,
			"query":      m.query,
			"advance": func(t *rapid.T) {
				m.clock = m.clock.Add(time.Duration(rapid.IntRange(1, 5).Draw(t, "s")) * time.Second)
			},
			"reopen": func(t *rapid.T) {
				if err := m.subject.Reopen(); err != nil {
					t.Fatal(err)
				}
			},
			"": m.check,
		})
	})
}

// machine is the state of one random sequence.
type machine struct {
	model   *mem.Store
	subject Subject
	clock   time.Time
	all     []grid.Table // tables that the sequence may create
	layout  store.Layout // layout of all readings of the sequence

	countsLag bool // whether the subject has the trait CountsLag
}

var modelDevices = []string{"a", "b", "b2"}

func (m *machine) table(t *rapid.T) grid.Table { return rapid.SampledFrom(m.all).Draw(t, "table") }

// genReading draws one of a small number of readings, so that repeats are likely.
func (m *machine) genReading(t *rapid.T, tb grid.Table) varve.Reading {
	width := tb.End - tb.Start
	sec := rapid.Int64Range(0, 30).Draw(t, "at")*(width/31) + rapid.SampledFrom([]int64{0, 0, 61, 1000}).Draw(t, "more")
	at := time.Unix(tb.Start+sec, rapid.Int64Range(0, 2).Draw(t, "ns"))
	r := varve.Reading{
		Series: device(rapid.SampledFrom(modelDevices).Draw(t, "device")), Time: at,
		Arrived: tb.Month.Start().Add(time.Duration(rapid.IntRange(0, 1000).Draw(t, "arrived")) * time.Hour / 2),
		Fields:  []varve.Field{{Name: "v", Value: varve.IntValue(rapid.Int64Range(0, 3).Draw(t, "v"))}},
	}
	if rapid.IntRange(0, 5).Draw(t, "extra") == 0 {
		r.Fields = append(r.Fields, varve.Field{Name: "s", Value: varve.StringValue(rapid.SampledFrom([]string{"on", "off"}).Draw(t, "s"))})
	}
	if rapid.IntRange(0, 5).Draw(t, "named") == 0 {
		r = named(r, rapid.SampledFrom([]string{"x", "y", "A2345678901"}).Draw(t, "id"))
		r.ID = r.ID.WithVersion(rapid.SampledFrom([]uint32{0, 0, 1, 2, 10}).Draw(t, "version"))
	}
	normalize(&r)
	return r
}

func (m *machine) write(t *rapid.T) {
	var batches []store.Batch
	for range rapid.IntRange(1, 3).Draw(t, "batches") {
		tb := m.table(t)
		n := rapid.SampledFrom([]int{1, 1, 3, 40}).Draw(t, "n")
		b := store.Batch{Table: tb, Layout: func(varve.Series) store.Layout { return m.layout }}
		for range n {
			b.Readings = append(b.Readings, m.genReading(t, tb))
		}
		batches = append(batches, b)
	}
	want, got := m.model.Write(context.Background(), batches), m.subject.Write(context.Background(), batches)
	for i := range batches {
		if !slices.Equal(got[i].Verdicts, want[i].Verdicts) || !sameError(got[i].Err, want[i].Err) {
			t.Fatalf("write to %s:\n got %s %v\nwant %s %v", batches[i].Table,
				got[i].Verdicts, got[i].Err, want[i].Verdicts, want[i].Err)
		}
	}
}

// sameError reports whether two errors have the same meaning in the contracts.
func sameError(a, b error) bool {
	for _, kind := range []error{store.ErrNoTable, store.ErrForeign, store.ErrRefused, store.ErrCondition, store.ErrClosed} {
		if errors.Is(a, kind) != errors.Is(b, kind) {
			return false
		}
	}
	var held *store.HoldError
	return (a == nil) == (b == nil) && errors.As(a, &held) == errors.As(b, &held)
}

func (m *machine) read(t *rapid.T) {
	tb := m.table(t)
	r := store.Range{
		Layout: m.layout,
		Table:  tb, Series: device(rapid.SampledFrom(modelDevices).Draw(t, "device")), Window: varve.AllTime(),
		Order: varve.Order(rapid.IntRange(0, 1).Draw(t, "order")), Limit: rapid.IntRange(0, 5).Draw(t, "limit"), Consistent: true,
	}
	if rapid.Bool().Draw(t, "window") {
		a, b := m.genReading(t, tb).Time, m.genReading(t, tb).Time
		r.Window = varve.Window{From: a, To: b}
	}
	if rapid.Bool().Draw(t, "after") {
		q := m.genReading(t, tb)
		p := q.Position()
		r.After = &p
	}
	m.compareRange(t, r)
}

func (m *machine) compareRange(t *rapid.T, r store.Range) {
	want, wantErr := (&env{Store: m.model}).all(context.Background(), r)
	got, gotErr := (&env{Store: m.subject}).all(context.Background(), r)
	if !sameError(gotErr, wantErr) {
		t.Fatalf("read %+v: %v, want %v", r, gotErr, wantErr)
	}
	if g, w := showAll(got), showAll(want); g != w {
		t.Fatalf("read %+v:\n got %s\nwant %s", r, g, w)
	}
}

func showAll(rs []varve.Reading) string {
	s := fmt.Sprintf("%d readings", len(rs))
	for i := range rs {
		s += "\n  " + show(&rs[i])
	}
	return s
}

func (m *machine) latest(t *rapid.T) {
	tb := m.table(t)
	l := store.Latest{
		Layout: m.layout,
		Table:  tb, Series: device(rapid.SampledFrom(modelDevices).Draw(t, "device")),
		By: varve.By(rapid.IntRange(0, 1).Draw(t, "by")), Consistent: true,
	}
	if rapid.Bool().Draw(t, "cutoff") {
		q := m.genReading(t, tb)
		l.Cutoff = rapid.SampledFrom([]time.Time{q.Time, q.Arrived}).Draw(t, "at")
	}
	want, wantOK, _, wantErr := m.model.Latest(context.Background(), l)
	got, gotOK, _, gotErr := m.subject.Latest(context.Background(), l)
	if gotOK != wantOK || !sameError(gotErr, wantErr) || gotOK && show(&got) != show(&want) {
		t.Fatalf("latest %+v:\n got %v %v %v\nwant %v %v %v", l, show(&got), gotOK, gotErr, show(&want), wantOK, wantErr)
	}
}

// both calls the function "do" with the model and with the subject, and compares the errors.
func (m *machine) both(t *rapid.T, what string, do func(store.Store) error) {
	if want, got := do(m.model), do(m.subject); !sameError(got, want) {
		t.Fatalf("%s: %v, want %v", what, got, want)
	}
}

func (m *machine) create(t *rapid.T) {
	tb, tier := m.table(t), store.Tier(rapid.IntRange(1, 3).Draw(t, "tier"))
	m.both(t, "create", func(s store.Store) error { return s.Create(context.Background(), tb, tier) })
}

func (m *machine) changeTable(t *rapid.T) {
	tb, at := m.table(t), m.clock
	do := rapid.SampledFrom([]func(store.Store) error{
		func(s store.Store) error { return s.Tune(context.Background(), tb, store.Cold) },
		func(s store.Store) error { return s.Tune(context.Background(), tb, store.Hot) },
		func(s store.Store) error { return s.Retire(context.Background(), tb, at) },
		func(s store.Store) error { return s.Restore(context.Background(), tb) },
		func(s store.Store) error { return s.Hold(context.Background(), tb, "why") },
		func(s store.Store) error { return s.Hold(context.Background(), tb, "") },
	}).Draw(t, "do")
	m.both(t, "change", do)
}

func (m *machine) drop(t *rapid.T) {
	tb := m.table(t)
	m.both(t, "drop", func(s store.Store) error { return s.Drop(context.Background(), tb) })
}

func genKey(t *rapid.T) store.Key {
	return store.Key{
		PK: rapid.SampledFrom([]string{"p", "p\x00", "q"}).Draw(t, "pk"),
		SK: rapid.SampledFrom([]string{"a", "a\x00b", "ab", "b"}).Draw(t, "sk"),
	}
}

func genConds(t *rapid.T) []store.Cond {
	return rapid.SampledFrom([][]store.Cond{
		nil, nil, {store.IfAbsent()}, {store.IfExists()},
		{store.IfEquals("v", varve.IntValue(1))}, {store.IfLess("v", varve.IntValue(2))},
	}).Draw(t, "conds")
}

func (m *machine) put(t *rapid.T) {
	it := store.Item{Key: genKey(t), Attrs: map[string]varve.Value{"v": varve.IntValue(rapid.Int64Range(0, 3).Draw(t, "v"))}}
	if rapid.Bool().Draw(t, "gsi1") {
		it.GSI1 = genKey(t)
	}
	if rapid.Bool().Draw(t, "gsi2") {
		it.GSI2 = genKey(t)
	}
	if rapid.Bool().Draw(t, "expires") {
		it.Expires = m.clock.Add(time.Duration(rapid.IntRange(0, 10).Draw(t, "in")) * time.Second)
	}
	conds := genConds(t)
	m.both(t, "put", func(s store.Store) error { return s.Put(context.Background(), it, conds...) })
}

func (m *machine) delete(t *rapid.T) {
	k, conds := genKey(t), genConds(t)
	m.both(t, "delete", func(s store.Store) error { return s.Delete(context.Background(), k, conds...) })
}

func (m *machine) query(t *rapid.T) {
	k := genKey(t)
	q := store.ItemQuery{
		Index: store.Index(rapid.IntRange(0, 2).Draw(t, "index")), PK: k.PK,
		Order: varve.Order(rapid.IntRange(0, 1).Draw(t, "order")), Limit: rapid.IntRange(0, 3).Draw(t, "limit"), Consistent: true,
	}
	if rapid.Bool().Draw(t, "bounds") {
		q.From, q.To = k.SK, genKey(t).SK
	}
	want, got := items(t, m.model, q), items(t, m.subject, q)
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Fatalf("query %+v:\n got %v\nwant %v", q, got, want)
	}
}

// items returns all items of a query. It reads them page by page.
func items(t *rapid.T, s store.Store, q store.ItemQuery) (all []store.Item) {
	for {
		page, err := s.Query(context.Background(), q)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, page.Items...)
		if !page.More {
			break
		}
		q.After = &all[len(all)-1]
	}
	byIndex := func(a, b store.Item) int {
		if q.Order == varve.Descending {
			a, b = b, a
		}
		return a.In(q.Index).Compare(b.In(q.Index))
	}
	if !slices.IsSortedFunc(all, byIndex) {
		t.Fatalf("query %+v: out of order: %v", q, all)
	}
	// The order of items with equal sort keys depends on the store.
	slices.SortStableFunc(all, func(a, b store.Item) int {
		return cmp.Or(byIndex(a, b), a.Key.Compare(b.Key))
	})
	return all
}

// check compares the tables and all readings of both stores.
func (m *machine) check(t *rapid.T) {
	f := store.Filter{Any: true, Window: varve.AllTime(), Details: true, Fresh: true}
	want, err := m.model.Tables(context.Background(), f)
	if err != nil {
		t.Fatal(err)
	}
	got, err := m.subject.Tables(context.Background(), f)
	if err != nil {
		t.Fatal(err)
	}
	comparable := func(in store.Info) store.Info {
		in.Bytes = 0
		if m.countsLag {
			in.Readings = 0
		}
		return in
	}
	for i := range want {
		want[i] = comparable(want[i])
	}
	for i := range got {
		got[i] = comparable(got[i])
	}
	if !slices.Equal(got, want) {
		t.Fatalf("tables:\n got %+v\nwant %+v", got, want)
	}
	for _, in := range want {
		m.compareSeries(t, in.Table)
		for _, d := range modelDevices {
			m.compareRange(t, store.Range{Table: in.Table, Series: device(d), Window: varve.AllTime(), Layout: m.layout})
		}
	}
}
