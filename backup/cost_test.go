package backup_test

import (
	"slices"
	"testing"

	"github.com/varvedb/varve/backup"
)

// TestMake_CostsWhatChanged checks that a backup writes only the files that no earlier backup has. It also
// checks that their bytes are proportional to the change, in the cheapest of nine backups. The others may
// write more, because Pebble merged its files since the backup before. That limit includes 4 % of the
// first backup for other files.
func TestMake_CostsWhatChanged(t *testing.T) {
	w := newWorld(t)
	w.write(100_000)
	first, err := w.make(w.place)
	if err != nil {
		t.Fatal(err)
	}
	stored := map[string]bool{}
	addFiles(stored, first.Manifest)
	for _, percent := range []int64{0, 2} {
		var bytes []int64
		for range 9 {
			w.write(int(max(10, percent*1000)))
			next, err := w.make(w.place)
			if err != nil {
				t.Fatal(err)
			}
			bytes = append(bytes, next.WrittenBytes)
			if added := addFiles(stored, next.Manifest); next.WrittenBytes != added {
				t.Errorf("a backup wrote %d bytes, but its new files have %d", next.WrittenBytes, added)
			}
		}
		t.Logf("first backup %d bytes, then %v for changes of %d %%", first.WrittenBytes, bytes, percent)
		if most := first.WrittenBytes * (percent + 4) / 100; slices.Min(bytes) > most {
			t.Errorf("after changes of %d %%, backups wrote %v bytes, want at most %d: the first one wrote %d", percent, bytes, most, first.WrittenBytes)
		}
	}
}

// addFiles adds the files of a backup to the set of stored files. It returns the number of bytes of the
// files that it added.
func addFiles(stored map[string]bool, m *backup.Manifest) (n int64) {
	for i := range m.Files {
		if f := &m.Files[i]; !stored[f.SHA256] {
			stored[f.SHA256] = true
			n += f.Size
		}
	}
	return n
}
