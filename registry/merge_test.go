package registry_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/registry"
	"github.com/varvedb/varve/registry/registrytest"
	"github.com/varvedb/varve/store"
)

// TestMerge_ListsSpanInOrder checks that the pages of a span have each matching item once, in
// order. The partitions of the items and the length of pages must not matter.
func TestMerge_ListsSpanInOrder(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := registrytest.New(nil)
		pks := []string{"p0", "p1", "p2"}
		var want []string
		match := rapid.Bool().Draw(rt, "match")
		for i := range rapid.IntRange(0, 40).Draw(rt, "items") {
			name := fmt.Sprintf("%03d", i)
			at := store.Key{PK: rapid.SampledFrom(pks).Draw(rt, "pk"), SK: "N#" + name}
			if err := s.Put(t.Context(), store.Item{Key: store.Key{PK: "x", SK: name}, GSI1: at}); err != nil {
				rt.Fatal(err)
			}
			if !match || i%3 == 0 {
				want = append(want, name)
			}
		}
		other := store.Item{Key: store.Key{PK: "x", SK: "other"}, GSI1: store.Key{PK: "p0", SK: "M#1"}}
		if err := s.Put(t.Context(), other); err != nil {
			rt.Fatal(err)
		}
		span := registry.Span{
			Index: store.GSI1, PKs: pks, Prefix: "N#", Order: varve.Order(rapid.IntRange(0, 1).Draw(rt, "order")), Limit: rapid.IntRange(1, 45).Draw(rt, "limit"),
		}
		if match {
			span.Match = func(it *store.Item) bool { return int(it.SK[2]-'0'+10*(it.SK[1]-'0'))%3 == 0 }
		}
		if span.Order == varve.Descending {
			slices.Reverse(want)
		}
		var got []string
		for more := true; more; {
			var items []store.Item
			var err error
			if items, more, err = registry.Merge(t.Context(), s, span); err != nil {
				rt.Fatal(err)
			}
			for i := range items {
				got = append(got, items[i].SK)
			}
			if more && len(items) != span.Limit {
				rt.Fatalf("a page of %d items with more after it, want %d", len(items), span.Limit)
			}
			if more {
				span.After = strings.TrimPrefix(items[len(items)-1].GSI1.SK, "N#")
			}
		}
		if !slices.Equal(got, want) {
			rt.Fatalf("got  %v\nwant %v", got, want)
		}
	})
}

func TestMerge_StopsEarly(t *testing.T) {
	s := registrytest.New(nil)
	for i := range 9 {
		if err := s.Put(t.Context(), store.Item{Key: store.Key{PK: "p", SK: fmt.Sprint(i)}}); err != nil {
			t.Fatal(err)
		}
	}
	seen := 0
	span := registry.Span{PKs: []string{"p"}, Limit: 100, Match: func(*store.Item) bool { seen++; return true }, Stop: func() bool { return seen == 4 }}
	items, more, err := registry.Merge(t.Context(), s, span)
	if err != nil || len(items) != 4 || !more {
		t.Errorf("%d items, more %t, %v: want 4 and more", len(items), more, err)
	}
	s.Unreadable = registrytest.ErrDisk
	if _, _, err := registry.Merge(t.Context(), s, span); err == nil {
		t.Error("the error of the store is lost")
	}
}
