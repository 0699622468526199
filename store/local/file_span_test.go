package local_test

import (
	"testing"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/local"
)

// TestFiles_HaveEitherChunksOrOtherKeys writes readings and items with index entries. No file of Pebble may have
// chunks beside other keys, neither after a flush nor after a merge of all files. Otherwise each new file would
// overlap the chunks of all tables.
func TestFiles_HaveEitherChunksOrOtherKeys(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, small(local.Options{Dir: dir}))
	create(t, s, week(t, 0), week(t, 1))
	for round := range 3 {
		for i := range 4 {
			write(t, s, week(t, round%2), readings(t, week(t, round%2), device(4*round+i), 100), varve.Stored)
			key := store.Key{PK: "p", SK: device(4*round + i)}
			if err := s.Put(t.Context(), store.Item{Key: key, GSI1: store.Key{PK: "g", SK: key.SK}}); err != nil {
				t.Fatal(err)
			}
		}
		s = reopened(t, s)
	}
	for _, merged := range []bool{false, true} {
		if merged {
			if err := s.Compact(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		chunks, others, mixed, err := s.CountFiles()
		if err != nil || chunks == 0 || others == 0 || mixed > 0 {
			t.Errorf("merged %t: %d files of chunks, %d of other keys, %d of both, %v", merged, chunks, others, mixed, err)
		}
	}
}
