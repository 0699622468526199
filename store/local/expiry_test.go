package local

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/varvedb/varve/store"
)

// TestExpiry_DeletesExpiredItems checks that expired items are deleted, also from the indexes, and that
// other items stay.
func TestExpiry_DeletesExpiredItems(t *testing.T) {
	clock := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	s, err := Open(Options{Dir: "data", FS: vfs.NewMem(), Now: func() time.Time { return clock }})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	for i := range 10 {
		it := store.Item{Key: store.Key{PK: "p\x00", SK: fmt.Sprint(i)}, GSI1: store.Key{PK: "g", SK: fmt.Sprint(i)}}
		if i < 4 {
			it.Expires = clock.Add(time.Hour)
		}
		if i == 9 {
			it.Expires = clock.Add(3 * time.Hour)
		}
		if err := s.Put(t.Context(), it); err != nil {
			t.Fatal(err)
		}
	}
	clock = clock.Add(time.Hour)
	if n, err := s.expiry.deleteExpired(t.Context()); n != 4 || err != nil {
		t.Errorf("swept %d, %v; want 4", n, err)
	}
	if n, err := s.expiry.deleteExpired(t.Context()); n != 0 || err != nil {
		t.Errorf("swept %d again, %v", n, err)
	}
	for _, space := range []byte{spaceItem, spaceGSI1} {
		if n := keysIn(t, s, space); n != 6 {
			t.Errorf("%d keys are left under %c, want 6", n, space)
		}
	}
}

func keysIn(t *testing.T, s *Store, space byte) (n int) {
	t.Helper()
	iter, err := s.db.NewIter(&pebble.IterOptions{LowerBound: []byte{space}, UpperBound: []byte{space + 1}})
	if err != nil {
		t.Fatal(err)
	}
	for ok := iter.First(); ok; ok = iter.Next() {
		n++
	}
	if err := errors.Join(iter.Error(), iter.Close()); err != nil {
		t.Fatal(err)
	}
	return n
}
