//go:build unix

package local_test

import (
	"errors"
	"github.com/varvedb/varve/store/local"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// readable returns the files in a folder that other users can read.
func readable(t *testing.T, dir string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // the store removed the file meanwhile
		}
		if err != nil {
			return err
		}
		info, err := d.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			names = append(names, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// TestFolder_IsPrivate checks that other users cannot read a data folder, even with umask 0, which
// removes no permission. Open must restrict a folder that other users can read, and report that once.
// The folder lost+found must stay unchanged.
func TestFolder_IsPrivate(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0))
	dir := filepath.Join(t.TempDir(), "new", "data")
	told := 0
	use := func() {
		t.Helper()
		s, err := local.Open(local.Options{Dir: dir, MinFree: -1, Events: local.Events{Restricted: func(files int) { told += files }}})
		if err != nil {
			t.Fatal(err)
		}
		if names := readable(t, dir); len(names) > 0 {
			t.Errorf("others can read %v", names)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if names := readable(t, dir); len(names) > 0 {
			t.Errorf("closed, others can read %v", names)
		}
	}
	use()
	if told != 0 {
		t.Errorf("told of %d", told)
	}
	files := 0
	open := func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // the store removed the file meanwhile
		}
		if err := os.Chmod(path, 0o755); !errors.Is(err, fs.ErrNotExist) {
			files++
			return err
		}
		return nil
	}
	if err := filepath.WalkDir(dir, open); err != nil {
		t.Fatal(err)
	}
	use()
	use()
	if told != files && told != files-1 { // LOCK may be restricted before the files are counted
		t.Errorf("told of %d, want %d", told, files)
	}
	foreign := filepath.Join(dir, "lost+found")
	if err := os.Mkdir(foreign, 0o755); err != nil {
		t.Fatal(err)
	}
	if s, err := local.Open(local.Options{Dir: dir, MinFree: -1}); err != nil {
		t.Error(err)
	} else if err := s.Close(); err != nil {
		t.Error(err)
	}
	if info, err := os.Stat(foreign); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}
