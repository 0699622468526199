//go:build unix

package filelock

import (
	"errors"
	"os"
	"syscall"

	"github.com/varvedb/varve/internal/fileerr"
)

// Lock locks a file, which it creates if it is missing, and returns a function that releases the lock. If another
// process has locked the file, the error is [ErrLocked].
func Lock(path string) (unlock func() error, err error) {
	f, err := lock(path)
	if err != nil {
		return nil, err
	}
	return f.Close, nil
}

// LockTemporary locks like [Lock]. The returned function also removes the file. On a file system without locks, it
// locks nothing.
func LockTemporary(path string) (unlock func() error, err error) {
	f, err := lock(path)
	if errors.Is(err, errors.ErrUnsupported) {
		return func() error { return nil }, fileerr.Short(os.Remove(path))
	}
	if err != nil {
		return nil, err
	}
	if !isPresent(path, f) {
		return nil, errors.Join(ErrLocked, f.Close())
	}
	return func() error { return errors.Join(fileerr.Short(os.Remove(path)), f.Close()) }, nil
}

func lock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fileerr.Short(err)
	}
	switch err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); {
	case errors.Is(err, syscall.EWOULDBLOCK):
		return nil, errors.Join(ErrLocked, f.Close())
	case err != nil:
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// isPresent reports whether a path is still an open file. Another process may have removed the file before it was
// locked.
func isPresent(path string, f *os.File) bool {
	now, err := os.Stat(path)
	if err != nil {
		return false
	}
	opened, err := f.Stat()
	return err == nil && os.SameFile(now, opened)
}
