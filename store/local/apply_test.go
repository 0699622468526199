package local_test

import (
	"errors"
	"testing"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/local"
)

// TestApply_IsAtomic checks that Apply makes all changes or none, also in the indexes.
func TestApply_IsAtomic(t *testing.T) {
	s := open(t, local.Options{Dir: t.TempDir()})
	item := func(sk, index string, version int64) store.Item {
		return store.Item{
			Key: store.Key{PK: "p", SK: sk}, GSI1: store.Key{PK: index, SK: sk}, Attrs: map[string]varve.Value{"version": varve.IntValue(version)},
		}
	}
	listed := func(index string) (sks string) {
		t.Helper()
		page, err := s.Query(t.Context(), store.ItemQuery{Index: store.GSI1, PK: index})
		if err != nil {
			t.Fatal(err)
		}
		for i := range page.Items {
			sks += page.Items[i].SK
		}
		return sks
	}
	is := func(version int64) []store.Cond {
		return []store.Cond{store.IfEquals("version", varve.IntValue(version))}
	}
	missing := []store.Cond{store.IfAbsent()}
	for _, c := range []struct {
		reason  string
		changes []store.Change
		fails   bool
		x, y    string
	}{
		{"nothing", nil, false, "", ""},
		{"two new", []store.Change{{Item: item("a", "x", 1), Conds: missing}, {Item: item("b", "x", 1), Conds: missing}}, false, "ab", ""},
		{"the second is stored", []store.Change{{Item: item("c", "x", 1), Conds: missing}, {Item: item("b", "y", 2), Conds: missing}}, true, "ab", ""},
		{"moves one, deletes one", []store.Change{{Item: item("a", "y", 2), Conds: is(1)}, {Item: item("b", "", 0), Delete: true, Conds: is(1)}}, false, "", "a"},
		{"a version of before", []store.Change{{Item: item("d", "x", 1)}, {Item: item("a", "x", 2), Delete: true, Conds: is(1)}}, true, "", "a"},
	} {
		err := s.Apply(t.Context(), c.changes)
		if c.fails != errors.Is(err, store.ErrCondition) || !c.fails && err != nil {
			t.Errorf("%s: %v", c.reason, err)
		}
		if x, y := listed("x"), listed("y"); x != c.x || y != c.y {
			t.Errorf("%s: %q and %q are listed, want %q and %q", c.reason, x, y, c.x, c.y)
		}
	}
}
