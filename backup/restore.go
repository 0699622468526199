package backup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/varvedb/varve/internal/filesync"
)

const (
	// identity is the name of a file that every whole data folder has.
	identity = "VARVE"
	// unfinished is the name of the file VARVE until the end of a restore.
	unfinished = "VARVE.restoring"
)

// Restore writes the files of a backup into a folder, which must be empty or missing, and checks
// them. Then it calls the function "finish", which may change the restored store and may be nil.
//
// Until "finish" returns nil, the folder has the file VARVE.restoring in place of VARVE. So if Restore fails
// or is interrupted, no server can start with the folder.
func (p *Place) Restore(ctx context.Context, m *Manifest, dir string, finish func() error) error {
	names, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	case len(names) > 0:
		return fmt.Errorf("folder %s is not empty: name another one", dir)
	}
	if err := makeDir(dir); err != nil {
		return err
	}
	c := counter{report: p.Progress, total: m.Size()}
	first := slices.IndexFunc(m.Files, func(f File) bool { return f.Path == identity })
	if first < 0 {
		return p.failed(fmt.Errorf("backup %s: lacks the file %s, so it is not a whole store", m.Name(), identity))
	}
	if err := p.restoreFile(ctx, &m.Files[first], &c, filepath.Join(dir, unfinished)); err != nil {
		return err
	}
	for i := range m.Files {
		if f := &m.Files[i]; i != first {
			if err := p.restoreFile(ctx, f, &c, filepath.Join(dir, filepath.FromSlash(f.Path))); err != nil {
				return err
			}
		}
	}
	if finish != nil {
		if err := finish(); err != nil {
			return err
		}
	}
	return filesync.Rename(filepath.Join(dir, unfinished), filepath.Join(dir, identity))
}

// restoreFile writes a file to a path, durably.
func (p *Place) restoreFile(ctx context.Context, f *File, c *counter, path string) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if err := makeDir(filepath.Dir(path)); err != nil {
		return err
	}
	body, err := p.read(ctx, f)
	if err != nil {
		return p.failed(fmt.Errorf("%s (%s): %w", f.Path, f.key(), err))
	}
	c.add(f.Size)
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if _, err = file.Write(body); err == nil {
		err = file.Sync()
	}
	return errors.Join(err, file.Close(), filesync.Folder(filepath.Dir(path)))
}

// makeDir creates a folder and all missing folders above it, durably.
func makeDir(dir string) error {
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	above := filepath.Dir(dir)
	if above != dir {
		if err := makeDir(above); err != nil {
			return err
		}
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return filesync.Folder(above)
}
