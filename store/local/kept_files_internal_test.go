package local

import (
	"errors"
	"io/fs"
	"path/filepath"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// openEmpty opens a store in a new folder.
func openEmpty(t *testing.T) *Store {
	t.Helper()
	s, err := Open(Options{Dir: t.TempDir(), MinFree: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// TestPartsKept_KeepsMergedFiles merges the files of a store while a repair reads them. Pebble must delete them
// only after the repair has released them.
func TestPartsKept_KeepsMergedFiles(t *testing.T) {
	s := openEmpty(t)
	if err := errors.Join(s.db.Set([]byte{spaceItem, 1}, []byte("a"), pebble.NoSync), s.db.Flush()); err != nil {
		t.Fatal(err)
	}
	list, release, err := partsKept(s.db.DB)
	if err != nil || len(list) == 0 {
		t.Fatalf("%d parts, %v", len(list), err)
	}
	if err := s.Rewrite(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i := range list {
		if missing, err := s.db.folder.missing(filepath.Join("pebble", fileName(list[i].number))); missing || err != nil {
			t.Errorf("%s was deleted before its release: %v", fileName(list[i].number), err)
		}
	}
	if err := release(); err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(time.Minute)
	for left := true; left; {
		if time.Now().After(deadline) {
			t.Fatal("the merged files were not deleted after their release")
		}
		left = false
		for i := range list {
			missing, err := s.db.folder.missing(filepath.Join("pebble", fileName(list[i].number)))
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				t.Fatal(err)
			}
			left = left || !missing
		}
	}
}

// TestLedger_KeepsLossesOfTwoFiles adds losses of two files with the same range of keys. Both must be recorded, so
// that the acceptance of the first one does not accept the second one unseen.
func TestLedger_KeepsLossesOfTwoFiles(t *testing.T) {
	s := openEmpty(t)
	l := lost{From: []byte{spaceItem, 1}, To: []byte{spaceItem, 2}, File: "000001.sst"}
	later := l
	later.File = "000002.sst"
	for range 2 {
		if err := s.db.ledger.add([]lost{l, later}); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(s.db.ledger.all()); n != 2 {
		t.Errorf("%d losses are recorded, want one of each file", n)
	}
}
