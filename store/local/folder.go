package local

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/varvedb/varve"
)

// formatLine is what the VARVE file of a folder in today's format says.
const formatLine = "varve embedded store, format 1\n"

const category = vfs.DiskWriteCategory("varve-store")

// folder is the store's folder, locked.
type folder struct {
	fs   vfs.FS
	dir  string
	lock io.Closer
}

// openFolder makes the folder if it is not there, locks it, and checks that it
// holds a store or nothing.
func openFolder(fs vfs.FS, dir string) (*folder, error) {
	f := &folder{fs: fs, dir: dir}
	if err := makeFolder(fs, dir); err != nil {
		return nil, fmt.Errorf("data folder %s: %w", dir, plain(err))
	}
	var err error
	if f.lock, err = fs.Lock(f.path("LOCK")); err != nil {
		return nil, f.lockError(err)
	}
	if err := f.check(); err != nil {
		return nil, errors.Join(err, f.lock.Close())
	}
	return f, nil
}

// makeFolder makes a folder and those above it that are not there, durably.
func makeFolder(fs vfs.FS, dir string) error {
	var above []string // folders that get a new entry
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
		if err := syncFolder(fs, up); err != nil {
			return err
		}
	}
	return nil
}

func syncFolder(fs vfs.FS, dir string) error {
	d, err := fs.OpenDir(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

func (f *folder) path(elem ...string) string {
	return f.fs.PathJoin(append([]string{f.dir}, elem...)...)
}

// lockError tells another process that has the folder from a folder that
// cannot be written to.
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

// check makes sure that the folder is Varve's, and makes an empty one so.
func (f *folder) check() error {
	empty, err := f.ours()
	if err != nil {
		return err
	}
	if empty {
		if err := f.write("VARVE", formatLine); err != nil {
			return err
		}
	}
	for _, sub := range []string{"journal", "pebble"} {
		if err := f.fs.MkdirAll(f.path(sub), 0o755); err != nil {
			return fmt.Errorf("data folder %s: %w", f.dir, plain(err))
		}
	}
	return f.write("PID", strconv.Itoa(os.Getpid())+"\n")
}

// ours reads the VARVE file. It fails unless that says what this program reads, or
// is not there, nor anything else.
func (f *folder) ours() (empty bool, err error) {
	got, err := f.read("VARVE")
	switch {
	case err == nil && got == formatLine:
		return false, nil
	case err == nil:
		return false, fmt.Errorf("data folder %s: VARVE says %q: this program reads %q", f.dir, got, formatLine)
	case !errors.Is(err, fs.ErrNotExist):
		return false, fmt.Errorf("data folder %s: %w", f.dir, plain(err))
	}
	names, err := f.fs.List(f.dir)
	if err != nil {
		return false, fmt.Errorf("data folder %s: %w", f.dir, plain(err))
	}
	for _, name := range names {
		if name != "LOCK" && name != "VARVE" && name != "lost+found" {
			return false, fmt.Errorf("data folder %s is not empty and not Varve's (it has %s in it): choose another folder", f.dir, name)
		}
	}
	return true, nil
}

func (f *folder) read(name string) (text string, err error) {
	file, err := f.fs.Open(f.path(name))
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	data, err := io.ReadAll(io.LimitReader(file, 1<<10))
	return string(data), err
}

// write puts a small file in place, durably.
func (f *folder) write(name, text string) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("data folder %s: %w", f.dir, plain(err))
		}
	}()
	tmp := f.path(name + ".new")
	file, err := f.fs.Create(tmp, category)
	if err != nil {
		return err
	}
	if _, err = file.Write([]byte(text)); err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	if err := f.fs.Rename(tmp, f.path(name)); err != nil {
		return err
	}
	return syncFolder(f.fs, f.dir)
}

func (f *folder) close() error {
	return errors.Join(f.fs.Remove(f.path("PID")), f.lock.Close())
}

// plain strips an error of the operating system of the operation and path,
// which the message around it names better.
func plain(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}
