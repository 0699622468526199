package main

import (
	"slices"
	"testing"

	"github.com/varvedb/varve/config"
)

// TestStoreKinds_MatchConfiguration checks that storeKinds has exactly one element for each value
// of store.kind, with the functions that all commands need.
func TestStoreKinds_MatchConfiguration(t *testing.T) {
	var names []string
	for _, k := range storeKinds() {
		names = append(names, k.name)
		if k.open == nil || k.place == nil || k.greeting == nil || k.examine == nil {
			t.Errorf("kind %s has no open, place, greeting or examine", k.name)
		}
		if k.tables < 1 {
			t.Errorf("kind %s reads %d tables at a time, want at least 1", k.name, k.tables)
		}
		c := config.Default()
		c.Store.Kind = k.name
		if got := kindOf(&c).name; got != k.name {
			t.Errorf("kindOf store.kind %s is %s", k.name, got)
		}
	}
	if want := config.StoreKinds(); !slices.Equal(names, want) {
		t.Errorf("kinds are %v, the configuration knows %v", names, want)
	}
}
