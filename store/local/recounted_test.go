package local_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/varvedb/varve/health"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/local"
)

// TestUnrecounted_OutlivesARestart checks that accepted losses of items stay recorded, and that the condition
// data_damaged holds, until the lost roll-ups are recounted.
func TestUnrecounted_OutlivesARestart(t *testing.T) {
	dir := killed(t)
	edit(t, only(t, filepath.Join(dir, "journal", "*.journal")), func(d []byte) []byte { d[used(d)/3] ^= 0xff; return d })
	conditions := health.New(health.Options{})
	o := local.Options{Dir: dir, MinFree: -1, Salvage: true, Conditions: conditions}
	s, err := local.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.AcceptLosses(t.Context()); err != nil {
		t.Fatal(err)
	}
	for life := range 3 {
		lost := s.Unrecounted()
		if len(lost) == 0 || !lost[0].Items || !conditions.Holds(health.DataDamaged) {
			t.Fatalf("life %d: %+v, condition %v", life, lost, conditions.List())
		}
		recorded, err := local.ReadRecorded(dir)
		if err != nil || len(recorded.Unrecounted) != len(lost) || len(recorded.Losses) > 0 {
			t.Errorf("life %d: recorded %+v, %v", life, recorded, err)
		}
		if life == 2 {
			break
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		o.Salvage = false
		if s, err = local.Open(o); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Recounted(t.Context()); err != nil || len(s.Unrecounted()) > 0 || conditions.Holds(health.DataDamaged) {
		t.Errorf("%v, %+v, %+v", err, s.Unrecounted(), conditions.List())
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestSeries_ListsEachOnce checks that the series of chunks and the partitions of items are
// listed once each.
func TestSeries_ListsEachOnce(t *testing.T) {
	s := open(t, local.Options{Dir: filled(t, 3, 500), MinFree: -1})
	list, err := s.ChunkSeries(t.Context())
	if err != nil || len(list) != 3 {
		t.Errorf("%v, %v", list, err)
	}
	for _, sk := range []string{"a", "b"} {
		for _, pk := range []string{"X#1", "X#2", "Y"} {
			if err := s.Put(t.Context(), store.Item{Key: store.Key{PK: pk, SK: sk}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if got, err := s.Partitions(t.Context(), "X#"); err != nil || !slices.Equal(got, []string{"X#1", "X#2"}) {
		t.Errorf("%q, %v", got, err)
	}
}

// TestCheckFolderQuickly_FindsATruncatedFile checks that a truncated file is found without reading
// its data, and that an intact folder has no findings.
func TestCheckFolderQuickly_FindsATruncatedFile(t *testing.T) {
	dir := filled(t, 2, 5000)
	find := func() (found []local.Problem) {
		t.Helper()
		if err := local.CheckFolderQuickly(t.Context(), dir, func(p local.Problem) { found = append(found, p) }); err != nil {
			t.Fatal(err)
		}
		return found
	}
	if found := find(); len(found) > 0 {
		t.Errorf("found %v in a whole folder", found)
	}
	path := ssts(t, dir)[0]
	if err := os.Truncate(path, 100); err != nil {
		t.Fatal(err)
	}
	if found := find(); len(found) != 1 || found[0].File != filepath.Base(path) || len(found[0].Losses) == 0 {
		t.Errorf("found %+v", found)
	}
}
