package storetest

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
)

// testItemsMany: many items at once are put and removed as one by one.
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
	must(t, e.PutAll(ctx, append(list, last))) // two of one key: the last one stays
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

// putAll puts some items at once, keys twice among them.
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
