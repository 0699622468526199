package local

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"strings"
	"syscall"
	"time"

	log "github.com/cockroachdb/pebble/v2/record"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store/local/meta"
)

// folder is a data folder. openFolder locks it.
type folder struct {
	fs      vfs.FS
	dir     string
	salvage bool // whether to continue if a missing part can be replaced
	// restoring means that the folder is not restored yet, so its VARVE file has another name.
	restoring bool
	lock      io.Closer

	now func() time.Time

	id     meta.ID
	state  folderState
	losses []Loss // missing or damaged parts that were replaced
}

// openFolder creates the folder if it is missing, and locks it. Then it calls begin, which checks that the
// folder contains a store or is new.
func openFolder(o Options) (*folder, error) {
	fs, dir := o.FS, o.Dir
	f := &folder{fs: fs, dir: dir, salvage: o.Salvage, restoring: o.Restoring, now: o.Now}
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
	var above []string // the parent of each missing folder
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

// lockError returns the error for a folder that cannot be locked: another process has it open, or
// it is not writable.
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

func (f *folder) failed(err error) error {
	return fmt.Errorf("data folder %s: %w", f.dir, plain(err))
}

func (f *folder) close() error {
	return errors.Join(f.fs.Remove(f.path("PID")), f.lock.Close())
}

// plain removes the operation and the path from an error of the operating system, because the
// caller's message names the folder.
func plain(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

func (f *folder) listFiles() (l listing, err error) {
	names, err := f.fs.List(f.path("pebble"))
	if err != nil {
		return l, err
	}
	l.tables = map[uint64]int64{}
	marked := uint64(0)
	for _, name := range names {
		if rest, ok := strings.CutPrefix(name, "marker.manifest."); ok {
			count, manifest, _ := strings.Cut(rest, ".")
			if n, err := strconv.ParseUint(count, 10, 64); err == nil && n >= marked {
				marked, l.manifest = n, manifest
			}
		}
		if strings.HasPrefix(name, "OPTIONS-") {
			l.options = append(l.options, name)
		}
		if number, ok := fileNumber(name); ok {
			info, err := f.fs.Stat(f.path("pebble", name))
			if err != nil {
				return l, err
			}
			l.tables[number] = info.Size()
		}
	}
	return l, nil
}

// manifestWhole reports whether a MANIFEST can be read to its end.
func (f *folder) manifestWhole(name string) (whole bool, err error) {
	file, err := f.fs.Open(f.path("pebble", name))
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	r := log.NewReader(file, 0)
	for {
		in, err := r.Next()
		if errors.Is(err, io.EOF) {
			return true, nil
		}
		if err == nil {
			_, err = io.Copy(io.Discard, in)
		}
		if err != nil {
			return false, nil
		}
	}
}

// oldestSegment returns the number of the first segment of the journal, or 0 if it has none.
func (f *folder) oldestSegment() (oldest uint64, err error) {
	names, err := f.fs.List(f.path("journal"))
	if err != nil {
		return 0, err
	}
	for _, name := range names {
		stem, ok := strings.CutSuffix(name, ".journal")
		if n, err := strconv.ParseUint(stem, 10, 64); ok && err == nil && (oldest == 0 || n < oldest) {
			oldest = n
		}
	}
	return oldest, nil
}

// replaceByEmpty creates an empty file in place of a file that is missing or does not have its
// recorded size. The empty file counts as damaged. Pebble finds only files that exist when the
// database is opened, so the caller replaces missing files before that. A file with a wrong size is
// replaced, because Pebble would merge its entries.
func (f *folder) replaceByEmpty(number uint64) error {
	path := f.path("pebble", fileName(number))
	if err := f.moveAside(path, fileName(number)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	file, err := f.fs.Create(path, "varve-store")
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close(), meta.SyncFolder(f.fs, f.path("pebble")))
}

// moveAside moves a file or folder into the folder of damaged files.
func (f *folder) moveAside(path, name string) error {
	if err := f.fs.MkdirAll(f.path(asideDir), 0o755); err != nil {
		return err
	}
	to := f.path(asideDir, fmt.Sprintf("%s-%d", name, f.now().UnixNano()))
	if err := f.fs.Rename(path, to); err != nil {
		return err
	}
	return errors.Join(meta.SyncFolder(f.fs, f.path(asideDir)), meta.SyncFolder(f.fs, f.fs.PathDir(path)))
}
