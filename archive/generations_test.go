package archive

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/varvedb/varve/objectstore"
	"github.com/varvedb/varve/objectstore/folder"
)

type countedStore struct {
	objectstore.Store
	gets int
}

func (s *countedStore) Get(ctx context.Context, key string, offset, length int64) ([]byte, error) {
	s.gets++
	return s.Store.Get(ctx, key, offset, length)
}

// TestGenerationOf_LeavesRoomForLaterNumbers checks the numbers in names of objects. The next number must fit
// into an int, because a manifest gets the number after the highest one. If that overflowed, the search for a
// free number would not end.
func TestGenerationOf_LeavesRoomForLaterNumbers(t *testing.T) {
	for name, want := range map[string]int{
		"manifest.json": 1, "manifest-2.json": 2, "manifest-999999999.json": 999_999_999, "manifest-02.json": 0, "manifest-0.json": 0,
		fmt.Sprintf("manifest-%d.json", math.MaxInt): 0, "manifest-99999999999999999999.json": 0,
	} {
		if got := generationOf("p/table=x/" + name); got != want {
			t.Errorf("%s has the number %d, want %d", name, got, want)
		}
	}
}

// TestFiles_ReadsOnlyListedManifests puts objects named like manifests into the folder of a table, one of them
// with a very high number. Searches up to this number must read the listed manifests only.
func TestFiles_ReadsOnlyListedManifests(t *testing.T) {
	objects, err := folder.Open(t.TempDir(), folder.Shared)
	if err != nil {
		t.Fatal(err)
	}
	s := &countedStore{Store: objects}
	o := &files{objects: s}
	r := &Record{Dir: "p/table=x/", Generation: 999_999_999}
	for _, name := range []string{"manifest-999999999.json", "manifest-3.json", "manifest.json", "manifest-03.json", "manifest-1.json", "sub/manifest-5.json", "part-1.parquet"} {
		if err := objects.PutNew(t.Context(), r.Dir+name, []byte("{}")); err != nil {
			t.Fatal(err)
		}
	}
	numbers, err := o.generations(t.Context(), r)
	if want := []int{1, 3, 999_999_999}; err != nil || !slices.Equal(numbers, want) {
		t.Fatalf("numbers %v, %v; want %v", numbers, err, want)
	}
	if named, err := o.attemptsWithManifest(t.Context(), r); err != nil || len(named) > 0 || s.gets != 3 {
		t.Errorf("%v, %v after %d requests; want 3 requests and no attempt", named, err, s.gets)
	}
	r.Generation = 1_000_000_000 // no stored manifest has this number
	if numbers, err = o.generations(t.Context(), r); err != nil || !slices.Equal(numbers, []int{1, 3, 999_999_999, 1_000_000_000}) {
		t.Errorf("numbers %v, %v; want the recorded generation, too", numbers, err)
	}
	if err := objects.PutNew(t.Context(), r.Dir+"manifest-1000000000.json", []byte("{}")); err != nil {
		t.Fatal(err)
	}
	r.Generation++
	if numbers, err = o.generations(t.Context(), r); err != nil || !slices.Contains(numbers, 1_000_000_000) {
		t.Errorf("numbers %v, %v; want the earlier generation, too", numbers, err)
	}
	r.Generation = 3
	if numbers, err = o.generations(t.Context(), r); err != nil || !slices.Equal(numbers, []int{1, 2, 3}) {
		t.Errorf("numbers %v, %v; want 1 to 3 without a list", numbers, err)
	}
}
