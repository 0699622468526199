//go:build unix

package outbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// lockFolder locks the folder against use by other processes, and returns a function that releases the
// lock.
func lockFolder(dir string) (unlock func() error, err error) {
	f, err := os.OpenFile(filepath.Join(dir, "LOCK"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock outbox: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		if errors.Is(err, syscall.EWOULDBLOCK) {
			err = errors.New("another agent uses it: stop that one, or set another outbox.dir")
		}
		return nil, errors.Join(fmt.Errorf("lock outbox %s: %w", dir, err), f.Close())
	}
	return f.Close, nil
}
