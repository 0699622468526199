package kway_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/varvedb/varve/internal/kway"
)

// TestLeast_MergesInOrder checks that repeatedly removing the smallest first value returns the
// elements of all sequences in order.
func TestLeast_MergesInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sequences := rapid.SliceOfN(rapid.SliceOf(rapid.IntRange(0, 9)), 0, 5).Draw(t, "sequences")
		want := slices.Concat(sequences...)
		slices.Sort(want)
		for _, s := range sequences {
			slices.Sort(s)
		}
		head := func(i int) *int {
			if len(sequences[i]) == 0 {
				return nil
			}
			return &sequences[i][0]
		}
		var got []int
		for i := 0; i >= 0; {
			if i = kway.Least(len(sequences), head, func(a, b *int) bool { return *a < *b }); i >= 0 {
				got = append(got, *head(i))
				sequences[i] = sequences[i][1:]
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
