package storetest

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
)

// testItemsMany checks that PutAll and DeleteAll have the same effect as single calls of Put and
// Delete.
func testItemsMany(t *testing.T, e *env) {
	ctx := t.Context()
	must(t, e.PutAll(ctx, nil))
	must(t, e.DeleteAll(ctx, nil))
	old := item("p", "000", map[string]varve.Value{"old": varve.IntValue(1)})
	old.GSI1 = store.Key{PK: "g", SK: "old"}
	must(t, e.Put(ctx, old))
	var list []store.Item
	var keys []store.Key
	for i := range 60 {
		it := item("p", fmt.Sprintf("%03d", i), map[string]varve.Value{"v": varve.IntValue(int64(i))})
		it.GSI1 = store.Key{PK: "g", SK: fmt.Sprint(i % 7)}
		list, keys = append(list, it), append(keys, it.Key)
	}
	last := item("p", "059", map[string]varve.Value{"v": varve.IntValue(-1)})
	last.Expires = start.Add(time.Hour)
	must(t, e.PutAll(ctx, append(list, last))) // if two items have one key, the last one remains
	got := e.query(t, store.ItemQuery{PK: "p", Consistent: true})
	if len(got) != 60 {
		t.Fatalf("%d items, want 60", len(got))
	}
	for i, it := range got {
		want := &list[i]
		if i == 59 {
			want = &last
		}
		if it.Key != want.Key || it.GSI1 != want.GSI1 || !it.Expires.Equal(want.Expires) || len(it.Attrs) != 1 || !it.Attrs["v"].Equal(want.Attrs["v"]) {
			t.Errorf("got %+v, want %+v", it, *want)
		}
	}
	if in := e.query(t, store.ItemQuery{Index: store.GSI1, PK: "g"}); len(in) != 59 {
		t.Errorf("%d items in the index, want 59", len(in))
	}
	must(t, e.DeleteAll(ctx, append(keys[5:], keys[7], store.Key{PK: "p", SK: "nobody"})))
	if left := e.query(t, store.ItemQuery{PK: "p", Consistent: true}); len(left) != 5 || left[4].SK != "004" {
		t.Errorf("left: %+v", left)
	}
	if in := e.query(t, store.ItemQuery{Index: store.GSI1, PK: "g"}); len(in) != 5 {
		t.Errorf("%d items in the index after a delete, want 5", len(in))
	}
}

// testItemsAbsent checks that PutAbsent writes missing items, and changes existing ones neither
// in the table nor in the indexes.
func testItemsAbsent(t *testing.T, e *env) {
	ctx := t.Context()
	if written, err := e.PutAbsent(ctx, nil); len(written) != 0 || err != nil {
		t.Errorf("of no items: %v, %v", written, err)
	}
	byHand := item("p", "007", map[string]varve.Value{"by": varve.StringValue("hand")})
	byHand.GSI1 = store.Key{PK: "g", SK: "hand"}
	expired := item("p", "008", map[string]varve.Value{"by": varve.StringValue("nobody")})
	expired.GSI1, expired.Expires = store.Key{PK: "g", SK: "expired"}, start.Add(time.Hour)
	must(t, e.PutAll(ctx, []store.Item{byHand, expired}))
	e.clock = start.Add(2 * time.Hour)
	var list []store.Item
	for i := range 130 { // more items than one request of DynamoDB can read or write
		it := item("p", fmt.Sprintf("%03d", i), map[string]varve.Value{"by": varve.StringValue("absent")})
		it.GSI1 = store.Key{PK: "g", SK: fmt.Sprintf("%03d", i)}
		list = append(list, it)
	}
	again := item("p", "000", map[string]varve.Value{"by": varve.StringValue("second")})
	written, err := e.PutAbsent(ctx, append(list, again))
	must(t, err)
	for i, w := range written {
		if want := i != 7 && i != 130; w != want {
			t.Errorf("item %d was written: %v", i, w)
		}
	}
	for i, it := range e.query(t, store.ItemQuery{PK: "p", Consistent: true}) {
		want, place := "absent", fmt.Sprintf("%03d", i)
		if i == 7 {
			want, place = "hand", "hand"
		}
		if it.SK != list[i].SK || it.Attrs["by"].Text() != want || it.GSI1.SK != place || !it.Expires.IsZero() {
			t.Errorf("got %+v, want by %s", it, want)
		}
	}
	if in := e.query(t, store.ItemQuery{Index: store.GSI1, PK: "g"}); len(in) != 130 {
		t.Errorf("%d items in the index, want 130", len(in))
	}
	written, err = e.PutAbsent(ctx, list)
	if must(t, err); slices.Contains(written, true) {
		t.Errorf("written a second time: %v", written)
	}
}

// testItemsAbsentAtOnce runs several PutAbsent calls and Put calls for the same keys at the same
// time. At most one PutAbsent may write each item, and exactly one if no Put writes the item.
func testItemsAbsentAtOnce(t *testing.T, e *env) {
	const writers, items = 4, 40
	list := func(by string) (list []store.Item) {
		for i := range items {
			list = append(list, item("p", fmt.Sprintf("%03d", i), map[string]varve.Value{"by": varve.StringValue(by)}))
		}
		return list
	}
	var wins [items]atomic.Int32
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			written, err := e.PutAbsent(t.Context(), list(fmt.Sprint(w)))
			if err != nil {
				t.Error(err)
			}
			for i := range written {
				if written[i] {
					wins[i].Add(1)
				}
			}
		})
	}
	wg.Go(func() {
		for _, it := range list("hand")[:items/2] {
			if err := e.Put(t.Context(), it); err != nil {
				t.Error(err)
			}
		}
	})
	wg.Wait()
	for i, it := range e.query(t, store.ItemQuery{PK: "p", Consistent: true}) {
		byHand, n := it.Attrs["by"].Text() == "hand", wins[i].Load()
		if i < items/2 && !byHand || n > 1 || i >= items/2 && n != 1 {
			t.Errorf("item %d is by %s, and %d writers wrote it as absent", i, it.Attrs["by"].Text(), n)
		}
	}
}

// putAbsent calls PutAbsent with some items, whose keys may repeat, and compares the results.
func (m *machine) putAbsent(t *rapid.T) {
	var list []store.Item
	for range rapid.IntRange(0, 4).Draw(t, "items") {
		it := store.Item{Key: genKey(t), Attrs: map[string]varve.Value{"v": varve.IntValue(rapid.Int64Range(0, 3).Draw(t, "v"))}}
		if rapid.Bool().Draw(t, "gsi1") {
			it.GSI1 = genKey(t)
		}
		list = append(list, it)
	}
	var results [][]bool
	m.both(t, "put absent", func(s store.Store) error {
		written, err := s.PutAbsent(t.Context(), list)
		results = append(results, written)
		return err
	})
	if !slices.Equal(results[0], results[len(results)-1]) {
		t.Fatalf("written: %v", results)
	}
}

func (m *machine) putAll(t *rapid.T) {
	var list []store.Item
	for range rapid.IntRange(0, 4).Draw(t, "items") {
		it := store.Item{Key: genKey(t), Attrs: map[string]varve.Value{"v": varve.IntValue(rapid.Int64Range(0, 3).Draw(t, "v"))}}
		if rapid.Bool().Draw(t, "gsi1") {
			it.GSI1 = genKey(t)
		}
		list = append(list, it)
	}
	m.both(t, "put all", func(s store.Store) error { return s.PutAll(t.Context(), list) })
}

func (m *machine) deleteAll(t *rapid.T) {
	keys := rapid.SliceOfN(rapid.Custom(genKey), 0, 3).Draw(t, "keys")
	m.both(t, "delete all", func(s store.Store) error { return s.DeleteAll(t.Context(), keys) })
}
