package backup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/varvedb/varve/objectstore"
)

// Snapshot describes the folder of a snapshot.
type Snapshot struct {
	Dir     string
	Store   string // id of the store
	Created time.Time
	Version string // version of this program
	Damage  string // damage that the store has recorded; "" if it has none
	// Check returns the damage of a file, by its path relative to Dir. It is called for each file that may
	// have changed since the last backup. If nil, files are not checked.
	Check func(path string) (damage, err error)
}

// Report counts the work of Make.
type Report struct {
	Manifest *Manifest
	// Written and WrittenBytes count new files. Known counts the files that the place already had.
	Written, Known int
	WrittenBytes   int64
}

// Make makes a backup of a snapshot. A damaged snapshot is backed up, too: see Manifest.Damages.
// Make fails if the place has backups of another store, or a backup that is not older than the
// snapshot. If Make is interrupted, the next call continues with the files that are not written yet.
func (p *Place) Make(ctx context.Context, s Snapshot) (report *Report, err error) {
	late := false
	err = p.withMark(ctx, func(lock *mark) (err error) {
		if report, err = p.copySnapshot(ctx, lock, s); err != nil {
			return err
		}
		late, err = p.putMarked(ctx, lock, report.Manifest)
		return err
	})
	if late {
		err = errors.Join(err, p.recheck(ctx, report.Manifest))
	}
	if err != nil {
		return nil, err
	}
	return report, nil
}

// copySnapshot writes the files of a snapshot that the place lacks. The report has the manifest, which is not
// written yet.
func (p *Place) copySnapshot(ctx context.Context, lock *mark, s Snapshot) (*Report, error) {
	earlier, err := p.ownManifests(ctx, s.Store)
	if err != nil {
		return nil, err
	}
	var last *Manifest
	if len(earlier) > 0 {
		last = earlier[len(earlier)-1]
	}
	if last != nil && !s.Created.After(last.Created) {
		return nil, p.failed(fmt.Errorf("backup %s is not older than this one: correct the clock, or delete %s of a wrong clock", last.Name(), p.prefix+last.key()))
	}
	m := maker{Place: p, lock: lock, ctx: ctx, report: &Report{Manifest: &Manifest{Format: format, Store: s.Store, Created: s.Created.UTC(), Version: s.Version, Damage: s.Damage}}, check: s.Check, intact: map[string]bool{}}
	for _, old := range earlier {
		for i := range old.Files {
			m.intact[old.Files[i].key()] = true
		}
	}
	if m.stored, err = p.list(ctx, filesPrefix); err != nil {
		return nil, err
	}
	if err := m.addFiles(s.Dir, known(last)); err != nil {
		return nil, err
	}
	return m.report, nil
}

// putMarked writes a manifest while the mark is valid. The result "late" means that the mark expired after its
// confirmation, so the manifest may have been written although another process deleted its files.
func (p *Place) putMarked(ctx context.Context, lock *mark, m *Manifest) (late bool, err error) {
	data, err := m.encode()
	if err != nil {
		return false, err
	}
	if err := lock.confirm(ctx); err != nil {
		return false, err
	}
	if err = p.putManifest(ctx, m.key(), data); err != nil {
		err = p.failed(err)
	}
	return lock.checkAge() != nil, err
}

// recheck checks, with a new mark, that all files of a manifest exist. If one is missing, it deletes the
// manifest. No process deletes the files later, because each one reads the manifest first.
func (p *Place) recheck(ctx context.Context, m *Manifest) error {
	err := p.withMark(ctx, func(lock *mark) error {
		files, err := p.list(ctx, filesPrefix)
		if err != nil {
			return err
		}
		for i := range m.Files {
			if f := &m.Files[i]; !hasFile(files, f) {
				err := fmt.Errorf("another backup deleted %s, because this one was suspended: run the command again", f.key())
				return p.failed(errors.Join(err, lock.delete(ctx, m.key())))
			}
		}
		return lock.checkAge()
	})
	if err != nil {
		return fmt.Errorf("backup %s may lack files: run varve backup verify: %w", m.Name(), err)
	}
	return nil
}

// putManifest writes a manifest and reads it back. If it exists already, the client has repeated a request after a
// lost answer. Then putManifest succeeds if the bytes are the same.
func (p *Place) putManifest(ctx context.Context, key string, data []byte) error {
	failed := p.put(ctx, key, data)
	if failed != nil && !errors.Is(failed, objectstore.ErrExists) {
		return failed
	}
	stored, err := p.objects.Get(ctx, p.prefix+key, 0, -1)
	switch {
	case err != nil:
		return errors.Join(failed, fmt.Errorf("read back the manifest: %w", err))
	case objectstore.SumOf(stored) != objectstore.SumOf(data):
		return errors.Join(failed, errors.New("read back the manifest: it differs from the written one"))
	default:
		return nil
	}
}

// ownManifests returns the readable backups, the oldest first. It fails if the place belongs to another
// store.
func (p *Place) ownManifests(ctx context.Context, store string) ([]*Manifest, error) {
	list, err := p.Manifests(ctx)
	if err != nil && len(list) == 0 {
		return nil, err // no manifest can be read, so the store of the backups is unknown
	}
	for _, m := range list {
		if m.Store != store {
			return nil, p.failed(fmt.Errorf("has backups of store %s, and this is store %s: name another place", m.Store, store))
		}
	}
	return list, nil
}

// known returns the files of a backup by their paths.
func known(m *Manifest) map[string]*File {
	files := map[string]*File{}
	if m != nil {
		for i := range m.Files {
			files[m.Files[i].Path] = &m.Files[i]
		}
	}
	return files
}

type maker struct {
	*Place
	lock    *mark
	ctx     context.Context
	stored  map[string]int64 // sizes in bytes of the files in the place, by key
	intact  map[string]bool  // keys of the files that a backup lists, or that were read back
	counter counter
	report  *Report
	check   func(path string) (damage, err error) // Snapshot.Check
}

func (m *maker) addFiles(dir string, before map[string]*File) error {
	files, err := listFiles(dir)
	if err != nil {
		return m.failed(err)
	}
	m.counter.report = m.Progress
	for i := range files {
		m.counter.total += files[i].Size
	}
	for i := range files {
		f := &files[i]
		if err := context.Cause(m.ctx); err != nil {
			return m.failed(err)
		}
		if err := m.lock.checkAge(); err != nil {
			return err
		}
		if old := before[f.Path]; old != nil && old.Size == f.Size && old.Modified.Equal(f.Modified) && m.has(old) {
			f.SHA256, f.Damage = old.SHA256, old.Damage
			m.report.Known++
			m.counter.add(f.Size)
			continue
		}
		if err := m.addFile(dir, f); err != nil {
			return m.failed(fmt.Errorf("%s: %w", f.Path, err))
		}
	}
	m.report.Manifest.Files = files
	return nil
}

// has reports whether the place has a file, with the right size.
func (m *maker) has(f *File) bool { return hasFile(m.stored, f) }

// hasFile reports whether a list of sizes has a file, with the right size.
func hasFile(sizes map[string]int64, f *File) bool {
	size, ok := sizes[f.key()]
	return ok && size == f.Size
}

// addFile hashes a file, and writes it unless the place has it. Pebble limits the size of its files, so
// each file fits into memory.
func (m *maker) addFile(dir string, f *File) error {
	body, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(f.Path)))
	if err != nil {
		return err
	}
	m.counter.add(int64(len(body)))
	f.SHA256, f.Size = objectstore.SumOf(body), int64(len(body))
	if m.check != nil {
		damage, err := m.check(f.Path)
		if err != nil {
			return err
		}
		if damage != nil {
			f.Damage = damage.Error()
		}
	}
	stored, err := m.checkStored(f)
	if err != nil {
		return err
	}
	if stored {
		m.report.Known++
		return nil
	}
	if err := m.put(m.ctx, f.key(), body); err != nil && !errors.Is(err, objectstore.ErrExists) {
		return err
	}
	if _, err := m.read(m.ctx, f); err != nil {
		return fmt.Errorf("read back: %w", err)
	}
	m.stored[f.key()], m.intact[f.key()] = f.Size, true
	m.report.Written++
	m.report.WrittenBytes += f.Size
	return nil
}

// checkStored reports whether the place has an intact copy of a file. If no backup lists the file,
// checkStored reads it, because the process that wrote it may have died before reading it back. It deletes a
// file with other bytes.
func (m *maker) checkStored(f *File) (bool, error) {
	key := f.key()
	if _, ok := m.stored[key]; !ok {
		return false, nil
	}
	if m.has(f) && m.intact[key] {
		return true, nil
	}
	body, err := m.objects.Get(m.ctx, m.prefix+key, 0, -1)
	if err != nil {
		return false, fmt.Errorf("read back: %w", err)
	}
	if f.compare(body) != nil {
		return false, m.lock.delete(m.ctx, key)
	}
	m.intact[key] = true
	return true, nil
}

// listFiles returns the files of a folder with their sizes and times, ordered by path.
func listFiles(dir string) (files []File, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		files = append(files, File{Path: filepath.ToSlash(rel), Size: info.Size(), Modified: info.ModTime().UTC()})
		return err
	})
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	return files, err
}
