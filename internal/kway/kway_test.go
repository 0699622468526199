package kway_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/varvedb/varve/internal/kway"
)

// TestLeast_MergesInOrder checks that repeatedly removing the smallest first value returns the
// elements of all sources in order.
func TestLeast_MergesInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sources := rapid.SliceOfN(rapid.SliceOf(rapid.IntRange(0, 9)), 0, 5).Draw(t, "sources")
		want := slices.Concat(sources...)
		slices.Sort(want)
		for _, s := range sources {
			slices.Sort(s)
		}
		head := func(i int) *int {
			if len(sources[i]) == 0 {
				return nil
			}
			return &sources[i][0]
		}
		var got []int
		for i := 0; i >= 0; {
			if i = kway.Least(len(sources), head, func(a, b *int) bool { return *a < *b }); i >= 0 {
				got = append(got, *head(i))
				sources[i] = sources[i][1:]
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
	})
}

func TestLeast_PrefersFirstOfEqualHeads(t *testing.T) {
	heads := []int{2, 1, 1}
	got := kway.Least(len(heads), func(i int) *int { return &heads[i] }, func(a, b *int) bool { return *a < *b })
	if got != 1 {
		t.Errorf("got source %d, want 1", got)
	}
}
