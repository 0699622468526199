//go:build unix

package export

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"github.com/varvedb/varve/internal/fileerr"
)

// lockStream locks the files of a stream in a folder against another export, and returns a function that
// releases the lock. Two exports would write the same file, and each would record the readings of the other one
// as copied.
func lockStream(dir, stream string) (unlock func() error, err error) {
	path := filepath.Join(dir, "."+stream+".lock")
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fileerr.Short(err)
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) || err == nil && !isPresent(path, f) {
		return nil, errors.Join(fmt.Errorf("another export of stream %s to %s is running: wait for its end", stream, dir), f.Close())
	}
	if err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), f.Close())
	}
	return func() error {
		return errors.Join(fileerr.Short(os.Remove(path)), f.Close())
	}, nil
}

// isPresent reports whether a path is still an open file. Another export may have removed the file before it was
// locked.
func isPresent(path string, f *os.File) bool {
	now, err := os.Stat(path)
	if err != nil {
		return false
	}
	opened, err := f.Stat()
	return err == nil && os.SameFile(now, opened)
}
