package backup_test

import (
	"strings"
	"testing"
	"time"
)

// TestMark_OfLongBackup checks that no other process changes the place during a backup of more than a
// day.
func TestMark_OfLongBackup(t *testing.T) {
	w := newWorld(t)
	w.write(400)
	begin, files := w.clock, 0
	other := w.placeOf(w.folder(w.dir))
	w.place.Progress = func(int64, int64) {
		files++
		w.clock = w.clock.Add(7 * time.Hour)
		if _, err := other.Prune(t.Context(), 1, false); err == nil || !strings.Contains(err.Error(), "under way") {
			t.Errorf("pruned after %s of a backup: %v", w.clock.Sub(begin), err)
		}
	}
	made, err := w.make(w.place)
	w.place.Progress = nil
	if err != nil {
		t.Fatal(err)
	}
	if took := w.clock.Sub(begin); took < 30*time.Hour {
		t.Errorf("%d files in %s show nothing", files, took)
	}
	if _, err := other.Prune(t.Context(), 1, false); err != nil {
		t.Errorf("the mark was not deleted: %v", err)
	}
	if got := w.restored(made.Manifest); got != 400 {
		t.Errorf("%d readings", got)
	}
}

// TestMark_OfSuspendedBackup checks that a backup writes no manifest if its process was suspended for
// too long.
func TestMark_OfSuspendedBackup(t *testing.T) {
	w := newWorld(t)
	w.write(400)
	w.place.Progress = func(int64, int64) {
		w.place.Progress = nil
		w.clock = w.clock.Add(13 * time.Hour)
	}
	if _, err := w.make(w.place); err == nil || !strings.Contains(err.Error(), "stood still for 13h") {
		t.Errorf("the suspended backup: %v", err)
	}
	if list, err := w.place.Manifests(t.Context()); err != nil || len(list) > 0 {
		t.Errorf("%d backups: %v", len(list), err)
	}
	if _, err := w.make(w.place); err != nil {
		t.Errorf("the next backup: %v", err)
	}
}
