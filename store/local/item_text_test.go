package local_test

import (
	"fmt"
	"testing"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/local"
)

// TestItem_KeepsTextsOfAllKinds checks that every part of an item may contain characters that JSON must
// escape.
func TestItem_KeepsTextsOfAllKinds(t *testing.T) {
	s := open(t, local.Options{Dir: t.TempDir()})
	texts := []string{"", "plain", "\t", "tab\tand\nbreak, \\ and the end\r", "tab\tand \x01\ttab", `a "quoted" \ text`, "line\nbreak\x00and\x01\x00zero", "größer – 测试", "\x00", "ends in \x00"}
	var items []store.Item
	var keys []store.Key
	for i, text := range texts {
		k := store.Key{PK: "texts " + text, SK: fmt.Sprint(i) + text}
		keys = append(keys, k)
		items = append(items, store.Item{
			Key: k, GSI1: store.Key{PK: "one", SK: text + "1"}, GSI2: store.Key{PK: "two" + text, SK: text + "2"},
			Attrs: map[string]varve.Value{
				"s": varve.StringValue(text), "n": varve.IntValue(int64(-i)), "b": varve.BoolValue(i%2 == 0),
				"j": varve.CanonicalJSON(`{"a":"b\n"}`), "name " + text: varve.StringValue("v"),
			},
		})
	}
	if err := s.PutAll(t.Context(), items); err != nil {
		t.Fatal(err)
	}
	got, err := s.Get(t.Context(), keys, true)
	if err != nil || len(got) != len(items) {
		t.Fatal(len(got), err)
	}
	for i := range items {
		if fmt.Sprint(got[i]) != fmt.Sprint(items[i]) {
			t.Errorf("got %v, want %v", got[i], items[i])
		}
		page, err := s.Query(t.Context(), store.ItemQuery{Index: store.GSI2, PK: items[i].GSI2.PK})
		if err != nil || len(page.Items) != 1 || page.Items[0].Key != keys[i] {
			t.Errorf("index of %q: %v, %v", texts[i], page.Items, err)
		}
	}
	page, err := s.Query(t.Context(), store.ItemQuery{Index: store.GSI1, PK: "one"})
	if err != nil || len(page.Items) != len(items) {
		t.Errorf("%d items in the index, want %d: %v", len(page.Items), len(items), err)
	}
}
