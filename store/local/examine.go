package local

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store/local/diskguard"
)

// Folder is the result of Examine for a data folder.
type Folder struct {
	Dir   string // absolute path of the folder
	There bool   // whether the folder exists
	New   bool   // whether the folder is empty, or the creation of its store was interrupted
	Held  error  // names the process that has the folder open; nil if no process has it open
	Disk  string // an existing folder on the same disk
}

// Examine examines a data folder without changing it. It returns an error if the folder is not
// writable, belongs to another program, or lacks a part of a store. A folder that is in use is not
// an error: see Folder.Held.
func Examine(dir string) (Folder, error) {
	f := Folder{Dir: dir}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return f, fmt.Errorf("data folder %s: %w", dir, err)
	}
	f.Dir = abs
	if f.Disk, err = nearest(abs); err != nil {
		return f, err
	}
	if err := writable(f.Disk); err != nil {
		return f, fmt.Errorf("%s cannot be written to: %w", f.Disk, plain(err))
	}
	if f.There = f.Disk == abs; !f.There {
		return f, nil
	}
	in := &folder{fs: vfs.Default, dir: abs}
	if err := in.identify(); err != nil || in.state == folderNew {
		f.New = err == nil
		return f, err
	}
	if _, err := os.Stat(in.path("LOCK")); errors.Is(err, fs.ErrNotExist) {
		return f, nil // locking would create the file
	}
	lock, err := in.fs.Lock(in.path("LOCK"))
	if err != nil {
		if err = in.lockError(err); varve.FailureOf(err) == varve.Conflict {
			f.Held, err = err, nil
		}
		return f, err
	}
	return f, lock.Close()
}

// nearest returns a folder, or the nearest existing folder above it.
func nearest(dir string) (string, error) {
	for at := dir; ; {
		info, err := os.Stat(at)
		switch {
		case err == nil && !info.IsDir():
			return at, fmt.Errorf("%s is not a folder", at)
		case err == nil:
			return at, nil
		case !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR):
			return at, fmt.Errorf("%s: %w", at, plain(err))
		}
		up := filepath.Dir(at)
		if up == at {
			return at, fmt.Errorf("%s: %w", dir, plain(err))
		}
		at = up
	}
}

// Free returns the free space on the disk of a folder, in bytes.
func Free(dir string) (int64, error) { return diskguard.Free(dir) }
