//go:build unix

package filelock_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/varvedb/varve/internal/filelock"
)

// TestLock_ExcludesOthers locks a file twice. The second lock must fail until the first one is released.
func TestLock_ExcludesOthers(t *testing.T) {
	for name, lock := range map[string]func(string) (func() error, error){"lock": filelock.Lock, "temporary": filelock.LockTemporary} {
		path := filepath.Join(t.TempDir(), "LOCK")
		unlock, err := lock(path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := lock(path); !errors.Is(err, filelock.ErrLocked) {
			t.Errorf("%s: the second lock: %v, want ErrLocked", name, err)
		}
		if err := unlock(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) != (name == "temporary") {
			t.Errorf("%s: the file after the lock: %v", name, err)
		}
		if unlock, err = lock(path); err != nil {
			t.Fatalf("%s: the lock after the first one: %v", name, err)
		}
		if err := unlock(); err != nil {
			t.Error(err)
		}
	}
}
