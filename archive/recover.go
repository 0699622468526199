package archive

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/objectstore"
)

// recoverer points records to merged archives that another registry has recorded.
//
// If the registry is restored from a backup, records may point to files that a later merge has replaced and
// deleted. The readings are in a merged archive that the registry does not know.
type recoverer struct {
	merger
	found map[string][]*candidate // merged archives of a class and arrival month, the newest first
}

// candidate is a merged archive in the object store.
type candidate struct {
	manifest *Manifest
	dir      string  // prefix of the keys of its objects
	sum      string  // checksum of the manifest
	recorded *Merged // nil until the files were recounted
}

// recoverOnce looks for records whose manifest is missing, until none was found. A registry is restored only
// while the process is stopped, so later calls look for nothing.
func (a merger) recoverOnce(ctx context.Context, existing []grid.Table) error {
	if a.recovered.Load() {
		return nil
	}
	r := recoverer{merger: a, found: map[string][]*candidate{}}
	err := r.recoverAll(ctx, existing)
	a.recovered.Store(err == nil)
	return err
}

// recoverAll finds the records whose manifest is missing, and points them to merged archives with the same
// readings. Records of existing tables are left out: their tables are archived again.
func (a *recoverer) recoverAll(ctx context.Context, existing []grid.Table) error {
	records, err := a.catalog.List(ctx)
	if err != nil {
		return err
	}
	missing := map[string]bool{} // whether a manifest is missing, by its key
	var errs []error
	for i := range records {
		r := &records[i]
		if r.State != Archived || slices.Contains(existing, r.Table) {
			continue
		}
		key := r.ManifestKey()
		if _, ok := missing[key]; !ok {
			if missing[key], err = a.files.isMissing(ctx, key); err != nil {
				return err
			}
		}
		if !missing[key] {
			continue
		}
		if err := a.recoverRecord(ctx, r); err != nil {
			errs = append(errs, fmt.Errorf("archive of %s: %s is missing: %w", r.Table, key, err))
		}
	}
	return errors.Join(errs...)
}

// recoverRecord points one record to a merged archive with the same readings.
func (a *recoverer) recoverRecord(ctx context.Context, r *Record) error {
	candidates, err := a.mergedOf(ctx, r)
	if err != nil {
		return err
	}
	failure := errors.New("no merged archive has the table")
	for _, c := range candidates {
		if c.manifest.entryOf(r.Table) == nil {
			continue
		}
		if failure = r.checkEntry(c.manifest); failure == nil {
			if failure = a.record(ctx, c); failure == nil {
				return a.point(ctx, r, c.recorded, c.manifest, c.sum)
			}
		}
	}
	return failure
}

// record recounts a merged archive and records it, unless this was done for another table.
func (a *recoverer) record(ctx context.Context, c *candidate) error {
	if c.recorded != nil {
		return nil
	}
	if err := a.files.verify(ctx, c.manifest, c.dir); err != nil {
		return err
	}
	m, found, err := a.catalog.getMerged(ctx, c.manifest.Table)
	if err != nil {
		return err
	}
	if !found {
		m = Merged{Name: c.manifest.Table, Dir: c.dir}
		if m.Tables, err = c.manifest.tables(); err != nil {
			return contentError{err}
		}
	}
	if m.State != Archived {
		if err := a.catalog.putMerged(ctx, &m, Archived); err != nil {
			return err
		}
	}
	c.recorded = &m
	return nil
}

// mergedOf returns the merged archives of the class and arrival month of a record, the newest first. Objects
// that are not the manifest of a merged archive are skipped.
func (a *recoverer) mergedOf(ctx context.Context, r *Record) ([]*candidate, error) {
	month := path.Dir(path.Dir(path.Clean(r.Dir))) + "/"
	if list, ok := a.found[month]; ok {
		return list, nil
	}
	var keys []string
	err := a.opts.Objects.List(ctx, month, func(o objectstore.Object) error {
		if dir, name := path.Split(o.Key); name == manifestName(1) && strings.HasPrefix(NameOfMerged(dir), mergedPrefix) {
			keys = append(keys, o.Key)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	var list []*candidate
	for _, key := range keys {
		body, err := a.opts.Objects.Get(ctx, key, 0, -1)
		if err != nil {
			return nil, err
		}
		dir, _ := path.Split(key)
		if m, err := parseManifest(body, NameOfMerged(dir)); err == nil {
			list = append(list, &candidate{manifest: m, dir: dir, sum: objectstore.SumOf(body)})
		}
	}
	slices.SortFunc(list, func(x, y *candidate) int { return y.manifest.Created.Compare(x.manifest.Created) })
	a.found[month] = list
	return list, nil
}

// checkOwn fails if a merged archive may have the only copy of a table whose record does not point to it: the
// table's own archive has lost its manifest.
func (a merger) checkOwn(ctx context.Context, m *Merged, records []Record) error {
	for i := range records {
		r := &records[i]
		if r.State != Archived || m.has(r) {
			continue
		}
		missing, err := a.files.isMissing(ctx, r.ManifestKey())
		if err != nil {
			return err
		}
		if missing {
			return fmt.Errorf("it is not deleted, because %s is missing", r.ManifestKey())
		}
	}
	return nil
}

// isMissing reports whether an object is missing.
func (o *files) isMissing(ctx context.Context, key string) (bool, error) {
	_, err := o.objects.Stat(ctx, key)
	if errors.Is(err, objectstore.ErrMissing) {
		return true, nil
	}
	return false, err
}
