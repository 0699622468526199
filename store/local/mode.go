package local

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// New folders have at most the permissions of folderMode. The mask "others" has all permissions of
// other users.
const (
	folderMode fs.FileMode = 0o700
	others     fs.FileMode = 0o077
)

// privateFS is the file system of the operating system. Its files and folders are readable by
// their owner only, with any umask.
type privateFS struct{ vfs.FS }

// Unwrap implements vfs.FS.
func (p privateFS) Unwrap() vfs.FS { return p.FS }

// Create implements vfs.FS. Other users cannot open the file before its mode is set, because
// they cannot enter its folder.
func (p privateFS) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return ownFile(name)(p.FS.Create(name, c))
}

// OpenReadWrite implements vfs.FS.
func (p privateFS) OpenReadWrite(name string, c vfs.DiskWriteCategory, opts ...vfs.OpenOption) (vfs.File, error) {
	return ownFile(name)(p.FS.OpenReadWrite(name, c, opts...))
}

// Lock implements vfs.FS.
func (p privateFS) Lock(name string) (io.Closer, error) {
	_, missing := os.Lstat(name)
	lock, err := p.FS.Lock(name)
	if err != nil || missing == nil {
		return lock, err
	}
	if _, err := restrict(name); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return lock, nil
}

// MkdirAll implements vfs.FS.
func (p privateFS) MkdirAll(dir string, perm fs.FileMode) error {
	return p.FS.MkdirAll(dir, perm&folderMode)
}

// ownFile returns a function that removes the permissions of other users from a file that was just
// opened.
func ownFile(name string) func(vfs.File, error) (vfs.File, error) {
	return func(f vfs.File, err error) (vfs.File, error) {
		if err != nil {
			return nil, err
		}
		if _, err := restrict(name); err != nil {
			return nil, errors.Join(err, f.Close())
		}
		return f, nil
	}
}

// restrict removes the permissions of other users from a file or folder, and reports whether it changed
// any. Symbolic links, and files of other owners, stay unchanged.
func restrict(name string) (changed bool, err error) {
	if runtime.GOOS == "windows" {
		return false, nil // Windows has no such permissions
	}
	info, err := os.Lstat(name)
	if err != nil || info.Mode().Perm()&others == 0 || info.Mode()&fs.ModeSymlink != 0 {
		return false, err
	}
	err = os.Chmod(name, info.Mode().Perm()&^others)
	if errors.Is(err, fs.ErrPermission) {
		return false, nil
	}
	return err == nil, err
}

// restrict removes the permissions of other users from the data folder and the files of the
// store. It returns the number of changed files and folders.
func (f *folder) restrict() (changed int, err error) {
	if _, private := f.fs.(privateFS); !private {
		return 0, nil
	}
	var names []string
	err = filepath.WalkDir(f.dir, func(path string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() && path == f.path("lost+found") {
			return fs.SkipDir
		}
		names = append(names, path)
		return err
	})
	if err != nil {
		return 0, err
	}
	for _, name := range names {
		did, err := restrict(name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return changed, err
		}
		if did {
			changed++
		}
	}
	return changed, nil
}
