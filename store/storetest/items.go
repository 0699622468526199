package storetest

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
)

func item(pk, sk string, attrs map[string]varve.Value) store.Item {
	return store.Item{Key: store.Key{PK: pk, SK: sk}, Attrs: attrs}
}

func (e *env) get(t *testing.T, keys ...store.Key) []store.Item {
	t.Helper()
	items, err := e.Get(t.Context(), keys, true)
	must(t, err)
	slices.SortFunc(items, func(a, b store.Item) int { return a.Key.Compare(b.Key) })
	return items
}

func testItemsPutGet(t *testing.T, e *env) {
	ctx := t.Context()
	meta, err := varve.JSONValue([]byte(`{"a":[1]}`))
	must(t, err)
	in := item("DEVICE#sensor_01", "#METADATA", map[string]varve.Value{
		"name": varve.StringValue("Warehouse Temp A"), "n": number("22.40"), "on": varve.BoolValue(true), "meta": meta,
	})
	in.GSI1 = store.Key{PK: "DEVICE_STATUS#active", SK: "DEVICE#sensor_01"}
	in.Expires = start.Add(time.Hour)
	must(t, e.Put(ctx, in))
	must(t, e.Put(ctx, item("DEVICE#sensor_02", "#METADATA", nil)))
	got := e.get(t, in.Key, store.Key{PK: "DEVICE#nobody", SK: "#METADATA"}, store.Key{PK: "DEVICE#sensor_02", SK: "#METADATA"})
	if len(got) != 2 {
		t.Fatalf("got %d items, want 2: %+v", len(got), got)
	}
	if g := got[0]; g.Key != in.Key || g.GSI1 != in.GSI1 || !g.GSI2.IsZero() || !g.Expires.Equal(in.Expires) || len(g.Attrs) != len(in.Attrs) {
		t.Errorf("got %+v, want %+v", g, in)
	}
	for name, v := range in.Attrs {
		if g := got[0].Attrs[name]; !g.Equal(v) {
			t.Errorf("%s: got %s, want %s", name, g, v)
		}
	}
	// A put replaces the whole item.
	must(t, e.Put(ctx, item(in.PK, in.SK, map[string]varve.Value{"x": number("1")})))
	if g := e.get(t, in.Key)[0]; len(g.Attrs) != 1 || !g.GSI1.IsZero() || !g.Expires.IsZero() {
		t.Errorf("replaced: %+v", g)
	}
	must(t, e.Delete(ctx, in.Key))
	must(t, e.Delete(ctx, in.Key)) // the deletion of a missing item is not an error
	if left := e.get(t, in.Key); len(left) != 0 {
		t.Errorf("after the delete: %+v", left)
	}
}

func testItemsConditions(t *testing.T, e *env) {
	ctx := t.Context()
	key := store.Key{PK: "LEASE", SK: "rotator"}
	version := func(n int64) store.Item {
		return item(key.PK, key.SK, map[string]varve.Value{"v": varve.IntValue(n), "who": varve.StringValue(fmt.Sprint("w", n))})
	}
	steps := []struct {
		reason string
		err    error
		hold   bool
	}{
		{"exists, of nothing", e.Put(ctx, version(1), store.IfExists()), false},
		{"equals, of nothing", e.Put(ctx, version(1), store.IfEquals("v", varve.IntValue(0))), false},
		{"absent", e.Put(ctx, version(1), store.IfAbsent()), true},
		{"absent, of something", e.Put(ctx, version(2), store.IfAbsent()), false},
		{"equals another", e.Put(ctx, version(2), store.IfEquals("v", varve.IntValue(7))), false},
		{"equals", e.Put(ctx, version(2), store.IfEquals("v", number("1.0"))), true},
		{"exists", e.Put(ctx, version(3), store.IfExists()), true},
		{"less", e.Put(ctx, version(4), store.IfLess("v", varve.IntValue(10))), true},
		{"not less", e.Put(ctx, version(5), store.IfLess("v", varve.IntValue(4))), false},
		{"less, of text", e.Put(ctx, version(5), store.IfLess("who", varve.StringValue("w5"))), true},
		{"missing attribute", e.Put(ctx, version(6), store.IfEquals("nope", varve.IntValue(5))), false},
		{"both must hold", e.Put(ctx, version(6), store.IfExists(), store.IfEquals("v", varve.IntValue(4))), false},
		{"delete, not equal", e.Delete(ctx, key, store.IfEquals("v", varve.IntValue(4))), false},
		{"delete, equal", e.Delete(ctx, key, store.IfEquals("v", varve.IntValue(5))), true},
		{"delete, exists, of nothing", e.Delete(ctx, key, store.IfExists()), false},
	}
	for _, s := range steps {
		if s.hold && s.err != nil || !s.hold && !errors.Is(s.err, store.ErrCondition) {
			t.Errorf("%s: %v", s.reason, s.err)
		}
	}
}

func testItemsQueries(t *testing.T, e *env) {
	ctx := t.Context()
	for i := range 20 {
		must(t, e.Put(ctx, item("p", fmt.Sprintf("A#%02d", i), nil)))
		must(t, e.Put(ctx, item("p", fmt.Sprintf("B#%02d", i), nil)))
		must(t, e.Put(ctx, item("pp", fmt.Sprintf("A#%02d", i), nil)))
	}
	cases := []struct {
		reason string
		q      store.ItemQuery
		first  string
		n      int
	}{
		{"a partition", store.ItemQuery{PK: "p"}, "A#00", 40},
		{"descending", store.ItemQuery{PK: "p", Order: varve.Descending}, "B#19", 40},
		{"a prefix", store.ItemQuery{PK: "p", From: "B#", To: store.PrefixEnd("B#")}, "B#00", 20},
		{"half-open", store.ItemQuery{PK: "p", From: "A#03", To: "A#07"}, "A#03", 4},
		{"half-open, descending", store.ItemQuery{PK: "p", From: "A#03", To: "A#07", Order: varve.Descending}, "A#06", 4},
		{"no match", store.ItemQuery{PK: "q"}, "", 0},
	}
	for _, c := range cases {
		for _, limit := range []int{0, 1, 3, 40} {
			c.q.Limit, c.q.Consistent, c.q.After = limit, true, nil
			got := e.query(t, c.q)
			if len(got) != c.n || c.n > 0 && got[0].SK != c.first {
				t.Errorf("%s, limit %d: %d items, want %d from %s: %+v", c.reason, limit, len(got), c.n, c.first, got)
			}
		}
	}
}

// query returns all items of a query. It reads them page by page, and checks their order.
func (e *env) query(t *testing.T, q store.ItemQuery) []store.Item {
	t.Helper()
	var all []store.Item
	for {
		page, err := e.Query(t.Context(), q)
		must(t, err)
		if q.Limit > 0 && len(page.Items) > q.Limit || page.More && len(page.Items) == 0 {
			t.Fatalf("a page of %d items, limit %d, more %v", len(page.Items), q.Limit, page.More)
		}
		all = append(all, page.Items...)
		if !page.More {
			break
		}
		q.After = &all[len(all)-1]
	}
	sorted := slices.IsSortedFunc(all, func(a, b store.Item) int {
		c := a.In(q.Index).Compare(b.In(q.Index))
		if q.Order == varve.Descending {
			return -c
		}
		return c
	})
	if !sorted {
		t.Fatalf("out of order: %+v", all)
	}
	seen := map[store.Key]bool{}
	for _, it := range all {
		if seen[it.Key] {
			t.Fatalf("%v occurs twice: %+v", it.Key, all)
		}
		seen[it.Key] = true
	}
	return all
}

func testItemsIndexes(t *testing.T, e *env) {
	ctx := t.Context()
	for i := range 10 {
		it := item("DEVICE#"+fmt.Sprint(i), "#METADATA", nil)
		if i%2 == 0 {
			it.GSI1 = store.Key{PK: "STATUS#active", SK: fmt.Sprint("same", i/4)} // several items share a sort key
		}
		it.GSI2 = store.Key{PK: "ALL", SK: fmt.Sprint(9 - i)}
		must(t, e.Put(ctx, it))
	}
	for _, order := range []varve.Order{varve.Ascending, varve.Descending} {
		for _, limit := range []int{0, 1, 2} {
			if got := e.query(t, store.ItemQuery{Index: store.GSI1, PK: "STATUS#active", Order: order, Limit: limit}); len(got) != 5 {
				t.Errorf("gsi1 %s limit %d: %d items, want 5", order, limit, len(got))
			}
			if got := e.query(t, store.ItemQuery{Index: store.GSI2, PK: "ALL", From: "3", To: "6", Order: order, Limit: limit}); len(got) != 3 {
				t.Errorf("gsi2 %s limit %d: %d items, want 3", order, limit, len(got))
			}
		}
	}
	// An item that no longer has a key in an index must be missing in the index.
	must(t, e.Put(ctx, item("DEVICE#0", "#METADATA", nil)))
	must(t, e.Delete(ctx, store.Key{PK: "DEVICE#2", SK: "#METADATA"}))
	if got := e.query(t, store.ItemQuery{Index: store.GSI1, PK: "STATUS#active"}); len(got) != 3 {
		t.Errorf("after a change and a delete: %d items, want 3: %+v", len(got), got)
	}
}

func testItemsExpiry(t *testing.T, e *env) {
	ctx := t.Context()
	it := item("p", "x", map[string]varve.Value{"v": varve.IntValue(1)})
	it.GSI1 = store.Key{PK: "g", SK: "x"}
	it.Expires = start.Add(10 * time.Second)
	must(t, e.Put(ctx, it))
	e.clock = start.Add(9 * time.Second)
	if len(e.get(t, it.Key)) != 1 {
		t.Fatal("the item expired too early")
	}
	e.clock = start.Add(10 * time.Second)
	if len(e.get(t, it.Key)) != 0 || len(e.query(t, store.ItemQuery{PK: "p"})) != 0 ||
		len(e.query(t, store.ItemQuery{Index: store.GSI1, PK: "g"})) != 0 {
		t.Fatal("an expired item was returned")
	}
	if err := e.Put(ctx, it, store.IfExists()); !errors.Is(err, store.ErrCondition) {
		t.Errorf("an expired item exists: %v", err)
	}
	it.Expires = time.Time{}
	must(t, e.Put(ctx, it, store.IfAbsent()))
	if len(e.get(t, it.Key)) != 1 {
		t.Fatal("the recreated item is missing")
	}
}

// testItemsOneWinner checks that exactly one of many concurrent writers with the same condition
// succeeds.
func testItemsOneWinner(t *testing.T, e *env) {
	ctx := t.Context()
	key := store.Key{PK: "LEASE", SK: "x"}
	must(t, e.Put(ctx, item(key.PK, key.SK, map[string]varve.Value{"v": varve.IntValue(0)})))
	for round := range int64(10) {
		var won atomic.Int32
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				next := item(key.PK, key.SK, map[string]varve.Value{"v": varve.IntValue(round + 1)})
				switch err := e.Put(ctx, next, store.IfEquals("v", varve.IntValue(round))); {
				case err == nil:
					won.Add(1)
				case !errors.Is(err, store.ErrCondition):
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if won.Load() != 1 {
			t.Fatalf("round %d: %d winners", round, won.Load())
		}
	}
}
