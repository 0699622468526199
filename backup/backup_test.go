package backup_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/varvedb/varve/backup"
	"github.com/varvedb/varve/objectstore"
	"github.com/varvedb/varve/store/local"
)

// TestMake_RestoresEachBackup makes backups while the store grows. Each must restore its own readings.
func TestMake_RestoresEachBackup(t *testing.T) {
	w := newWorld(t)
	for range 5 {
		w.write(700)
		if _, err := w.make(w.place); err != nil {
			t.Fatal(err)
		}
	}
	list, err := w.place.Manifests(t.Context())
	if err != nil || len(list) != 5 {
		t.Fatal(len(list), err)
	}
	for i, m := range list {
		if got, want := w.restored(m), (i+1)*700; got != want {
			t.Errorf("backup %d has %d readings, want %d", i, got, want)
		}
	}
	if problems, err := w.place.Verify(t.Context(), list); err != nil || len(problems) > 0 {
		t.Error(problems, err)
	}
}

// TestMake_SurvivesFaults interrupts backups at each operation. A backup must be reported only if it can
// be restored. Earlier backups must stay whole, and the next attempt must succeed.
func TestMake_SurvivesFaults(t *testing.T) {
	for _, dies := range []bool{false, true} {
		w := newWorld(t)
		w.write(300)
		if _, err := w.make(w.place); err != nil {
			t.Fatal(err)
		}
		failed := 0
		for n := 1; ; n++ {
			w.write(30)
			u := &unreliable{Store: w.folder(w.dir), left: n, dies: dies}
			_, err := w.make(w.placeOf(u))
			if u.left > 0 && err == nil {
				break // the backup needs fewer than n operations, so each one has been interrupted
			}
			if err != nil {
				failed++
			}
			w.clock = w.clock.Add(validity) // later backups then ignore the mark of the interrupted one
			list, err := w.place.Manifests(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if problems, err := w.place.Verify(t.Context(), list); err != nil || len(problems) > 0 {
				t.Fatal(problems, err)
			}
		}
		if failed < 10 {
			t.Errorf("%d backups failed, want at least 10", failed)
		}
		if _, err := w.make(w.place); err != nil {
			t.Fatal(err)
		}
		last, err := w.place.Select(t.Context(), "", time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		if got := w.restored(last); got != w.sent {
			t.Errorf("the last backup has %d readings, want %d", got, w.sent)
		}
	}
}

// TestVerify_FindsEachChange damages each file of a backup in several ways. Verify must name the
// file, and Restore must fail.
func TestVerify_FindsEachChange(t *testing.T) {
	w := newWorld(t)
	w.write(3000)
	made, err := w.make(w.place)
	if err != nil {
		t.Fatal(err)
	}
	m := made.Manifest
	for name, change := range map[string]func(data []byte) []byte{
		"flipped": func(data []byte) []byte { data[len(data)/2] ^= 1; return data },
		"cut":     func(data []byte) []byte { return data[:len(data)-1] },
		"longer":  func(data []byte) []byte { return append(data, 0) },
		"missing": func([]byte) []byte { return nil },
	} {
		for i := range m.Files {
			if m.Files[i].Size == 0 {
				continue
			}
			path := filepath.Join(w.dir, "some/store/files", m.Files[i].SHA256)
			before, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			w.edit(m, i, change)
			problems, err := w.place.Verify(t.Context(), []*backup.Manifest{m})
			if err != nil || len(problems) != 1 || problems[0].File.SHA256 != m.Files[i].SHA256 {
				t.Errorf("%s %s: found %v, %v", m.Files[i].Path, name, problems, err)
			}
			dir := filepath.Join(t.TempDir(), "restored")
			if err := w.place.Restore(t.Context(), m, dir, nil); err == nil {
				t.Errorf("%s %s: restored nevertheless", m.Files[i].Path, name)
			}
			if _, err := os.Stat(filepath.Join(dir, "VARVE")); err == nil && m.Files[i].Path != "VARVE" {
				t.Errorf("%s %s: the folder looks whole", m.Files[i].Path, name)
			}
			if err := os.WriteFile(path, before, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestManifest_MustBeWhole checks that a changed manifest is refused, and that nothing is deleted
// then.
func TestManifest_MustBeWhole(t *testing.T) {
	w := newWorld(t)
	for range 3 {
		w.write(100)
		if _, err := w.make(w.place); err != nil {
			t.Fatal(err)
		}
	}
	list, err := w.place.Manifests(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(w.dir, "some/store/backups", list[0].Name()+".json")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{strings.Replace(string(data), "VARVE", "../../x", 1), string(data[:len(data)/2]), strings.Replace(string(data), `"format": 1`, `"format": 2`, 1)} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if rest, err := w.place.Manifests(t.Context()); err == nil || len(rest) != 2 {
			t.Errorf("%d manifests, %v", len(rest), err)
		}
		if _, err := w.place.Prune(t.Context(), 1, false); err == nil {
			t.Error("pruned beside a manifest that cannot be read")
		}
	}
	if problems, err := w.place.Verify(t.Context(), list); err != nil || len(problems) > 0 {
		t.Error(problems, err)
	}
}

// TestPrune_KeepsWhatIsNeeded deletes old backups. The others must stay whole.
func TestPrune_KeepsWhatIsNeeded(t *testing.T) {
	w := newWorld(t)
	for range 6 {
		w.write(400)
		if _, err := w.make(w.place); err != nil {
			t.Fatal(err)
		}
	}
	foreign := filepath.Join(w.dir, "some/store/files", "notes.txt")
	if err := os.WriteFile(foreign, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	would, err := w.place.Prune(t.Context(), 2, true)
	if err != nil {
		t.Fatal(err)
	}
	did, err := w.place.Prune(t.Context(), 2, false)
	if err != nil || len(did.Backups) != 4 || did.Files == 0 || did.Files != would.Files || did.Bytes != would.Bytes {
		t.Errorf("deleted %+v, announced %+v: %v", did, would, err)
	}
	if _, err := os.Stat(foreign); err != nil {
		t.Error("a foreign file was deleted:", err)
	}
	list, err := w.place.Manifests(t.Context())
	if err != nil || len(list) != 2 {
		t.Fatal(len(list), err)
	}
	for i, m := range list {
		if got, want := w.restored(m), (i+5)*400; got != want {
			t.Errorf("backup %d has %d readings, want %d", i, got, want)
		}
	}
}

// TestPlace_RefusesOthers checks that a place takes backups of one store, one at a time, and that a
// restore needs an empty folder.
func TestPlace_RefusesOthers(t *testing.T) {
	w := newWorld(t)
	w.write(10)
	made, err := w.make(w.place)
	if err != nil {
		t.Fatal(err)
	}
	other := newWorld(t)
	if _, err := other.make(w.place); err == nil || !strings.Contains(err.Error(), "name another place") {
		t.Errorf("a backup of another store: %v", err)
	}
	mark := filepath.Join(w.dir, "some/store/running", w.clock.UTC().Format("20060102T150405Z")+"-other")
	if err := os.WriteFile(mark, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := w.make(w.place); err == nil || !strings.Contains(err.Error(), "under way") {
		t.Errorf("a second backup at the same time: %v", err)
	}
	if _, err := w.place.Prune(t.Context(), 1, false); err == nil {
		t.Error("pruned while a backup is made")
	}
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "x"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := w.place.Restore(t.Context(), made.Manifest, full, nil); err == nil {
		t.Error("restored into a folder that is not empty")
	}
	if _, err := w.placeOf(w.folder(t.TempDir())).Select(t.Context(), "", time.Time{}); err == nil {
		t.Error("an empty place has a backup")
	}
	if err := w.folder(w.dir).PutNew(t.Context(), "some/store/files/"+made.Manifest.Files[0].SHA256, []byte("x")); !errors.Is(err, objectstore.ErrExists) {
		t.Errorf("an object was replaced: %v", err)
	}
}

// TestRestore_UnusableUntilItsEnd interrupts a restore at each file but the first, and before its last step.
// Then the folder must not open as a store, not even with Salvage.
func TestRestore_UnusableUntilItsEnd(t *testing.T) {
	w := newWorld(t)
	w.write(500)
	made, err := w.make(w.place)
	if err != nil {
		t.Fatal(err)
	}
	m := made.Manifest
	expectUnusable := func(dir, when string) {
		t.Helper()
		for _, salvage := range []bool{false, true} {
			if s, err := local.Open(local.Options{Dir: dir, MinFree: -1, Salvage: salvage}); err == nil {
				t.Errorf("%s, salvage %t: the store opened: %v", when, salvage, s.Close())
			} else if !strings.Contains(err.Error(), "not restored yet") {
				t.Errorf("%s, salvage %t: %v", when, salvage, err)
			}
		}
		if err := local.CheckFolder(t.Context(), dir, 0, func(local.Problem) {}); err == nil {
			t.Errorf("%s: the folder was checked", when)
		}
	}
	for n := 2; n <= len(m.Files); n++ { // n is 2 or more, because the folder is still empty if the first file fails
		dir := filepath.Join(t.TempDir(), "restored")
		p := w.placeOf(&unreliable{Store: w.folder(w.dir), left: n, dies: true})
		if err := p.Restore(t.Context(), m, dir, nil); !errors.Is(err, errInjected) {
			t.Fatalf("file %d: %v", n, err)
		}
		expectUnusable(dir, fmt.Sprintf("file %d", n))
	}
	dir := filepath.Join(t.TempDir(), "restored")
	err = w.place.Restore(t.Context(), m, dir, func() error {
		s, err := local.Open(local.Options{Dir: dir, MinFree: -1, Restoring: true})
		if err != nil {
			t.Fatal(err)
		}
		if n := count(t, s, w.table); n != 500 {
			t.Errorf("%d readings are restored, want 500", n)
		}
		return errors.Join(errInjected, s.Close())
	})
	if !errors.Is(err, errInjected) {
		t.Fatal(err)
	}
	expectUnusable(dir, "before the last step")
}

// TestSelectAsOf_ReturnsFirstLaterBackup selects by times before, at and after the times of backups. A backup
// must be after the millisecond of the time, because arrivals are whole milliseconds.
func TestSelectAsOf_ReturnsFirstLaterBackup(t *testing.T) {
	w := newWorld(t)
	if _, err := w.place.SelectAsOf(t.Context(), w.clock); err == nil || !strings.Contains(err.Error(), "has no backup") {
		t.Errorf("select of an empty place: %v", err)
	}
	var made []time.Time
	for range 3 {
		w.write(10)
		r, err := w.make(w.place)
		if err != nil {
			t.Fatal(err)
		}
		made = append(made, r.Manifest.Created)
	}
	for _, c := range []struct {
		at    time.Time
		want  int
		knows bool
	}{
		{made[0].Add(-time.Hour), 0, true}, {made[0].Add(-time.Millisecond), 0, true}, {made[0].Add(-time.Nanosecond), 0, true},
		{made[0], 1, true}, {made[1].Add(-time.Millisecond), 1, true}, {made[1], 2, true}, {made[2], 2, false}, {made[2].Add(time.Hour), 2, false},
	} {
		m, err := w.place.SelectAsOf(t.Context(), c.at)
		if err != nil || !m.Created.Equal(made[c.want]) || m.Knows(c.at) != c.knows {
			t.Errorf("as of %s: backup %s, %v, want %s, known %t", c.at, m.Name(), err, made[c.want], c.knows)
		}
	}
}

// TestMake_MarksBackupsOfDamagedStore changes a byte of a stored file. The next two backups must succeed and
// name the file, although the second does not check it once more. Prune must not delete the last undamaged
// backup.
func TestMake_MarksBackupsOfDamagedStore(t *testing.T) {
	w := newWorld(t)
	w.write(400)
	damages := func() []string {
		r, err := w.make(w.place)
		if err != nil {
			t.Fatal(err)
		}
		return r.Manifest.Damages()
	}
	if got := damages(); len(got) > 0 {
		t.Fatalf("the store is intact, and its backup has the damage %q", got)
	}
	w.write(400)
	w.before = func(dir string) {
		files, err := filepath.Glob(filepath.Join(dir, "pebble", "*.sst"))
		if err != nil || len(files) == 0 {
			t.Fatal("the snapshot has no file with data", err)
		}
		changeByte(t, files[len(files)-1])
	}
	for i := range 2 {
		if got := damages(); len(got) != 1 || !strings.HasPrefix(got[0], "pebble/") {
			t.Fatalf("backup %d of a damaged store has the damage %q", i, got)
		}
		w.before = nil // the file stays damaged
	}
	pruned, err := w.place.Prune(t.Context(), 1, false)
	if err != nil || len(pruned.Backups) > 0 {
		t.Fatalf("the only undamaged backup was not kept: %+v, %v", pruned, err)
	}
	list, err := w.place.Manifests(t.Context())
	if err != nil || len(list) != 3 || len(list[1].Damages()) != 1 {
		t.Fatalf("%d backups, %v", len(list), err)
	}
}

// changeByte changes the tenth byte of a file.
func changeByte(t *testing.T, path string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 1)
	if _, err = f.ReadAt(b, 10); err == nil {
		b[0] ^= 1
		_, err = f.WriteAt(b, 10)
	}
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}
