package local

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"syscall"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store/local/meta"
)

// folder is the locked folder of the store.
type folder struct {
	fs      vfs.FS
	dir     string
	salvage bool // continue if a missing part can be replaced
	lock    io.Closer

	now func() time.Time

	id     meta.ID
	state  folderState
	losses []Loss // missing parts that were replaced
}

// openFolder creates the folder if it is missing, locks it, and checks that it holds a store or
// is empty.
func openFolder(o Options) (*folder, error) {
	fs, dir := o.FS, o.Dir
	f := &folder{fs: fs, dir: dir, salvage: o.Salvage, now: o.Now}
	if err := makeFolder(fs, dir); err != nil {
		return nil, fmt.Errorf("data folder %s: %w", dir, plain(err))
	}
	if err := f.checkUnlocked(); err != nil {
		return nil, err
	}
	var err error
	if f.lock, err = fs.Lock(f.path("LOCK")); err != nil {
		return nil, f.lockError(err)
	}
	if err := f.begin(); err != nil {
		return nil, errors.Join(err, f.lock.Close())
	}
	return f, nil
}

// checkUnlocked refuses a foreign folder before the lock creates a file in it.
func (f *folder) checkUnlocked() error {
	if _, err := f.fs.Stat(f.path("LOCK")); !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	looked := *f
	if err := looked.identify(); err != nil && !isDamage(err) {
		return err
	}
	return nil
}

// makeFolder creates a folder and all missing folders above it, durably.
func makeFolder(fs vfs.FS, dir string) error {
	var above []string // folders that receive a new entry
	for at := dir; ; {
		if _, err := fs.Stat(at); err == nil {
			break
		}
		up := fs.PathDir(at)
		if up == at {
			break
		}
		above = append(above, up)
		at = up
	}
	if err := fs.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, up := range above {
		if err := meta.SyncFolder(fs, up); err != nil {
			return err
		}
	}
	return nil
}

func (f *folder) path(elem ...string) string {
	return f.fs.PathJoin(append([]string{f.dir}, elem...)...)
}

// lockError distinguishes a folder that another process has open from a folder that is not
// writable.
func (f *folder) lockError(err error) error {
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) || errors.Is(err, syscall.ENOSPC) {
		return fmt.Errorf("data folder %s: %w", f.dir, plain(err))
	}
	holder := "another process"
	if pid, readErr := f.read("PID"); readErr == nil {
		holder += " (pid " + strings.TrimSpace(pid) + ")"
	}
	return varve.Errorf(varve.Conflict, "data folder %s is in use by %s: stop it or choose another folder", f.dir, holder)
}

func (f *folder) read(name string) (string, error) { return meta.Read(f.fs, f.path(name)) }

// write replaces a small file, durably.
func (f *folder) write(name, text string) error {
	if err := meta.Write(f.fs, f.path(name), text); err != nil {
		return f.failed(err)
	}
	return nil
}

// failed adds the folder to an error.
func (f *folder) failed(err error) error {
	return fmt.Errorf("data folder %s: %w", f.dir, plain(err))
}

func (f *folder) close() error {
	return errors.Join(f.fs.Remove(f.path("PID")), f.lock.Close())
}

// plain removes the operation and the path from an error of the operating system, because the
// message names both.
func plain(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}
