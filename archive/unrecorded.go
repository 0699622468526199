package archive

import (
	"context"
	"errors"
	"path"
	"slices"
	"strings"

	"github.com/varvedb/varve/objectstore"
)

// Unrecorded is an object that no record names, in the folders of an archive.
type Unrecorded struct {
	Key  string
	Size int64
}

// ListUnrecorded returns the objects that no record names, in the folders of a table's archive, sorted by
// key. Examples are leftovers of interrupted merges, archives that the registry does not know, and objects of
// other programs. It includes the folders of merged archives that may have readings of the table. It deletes
// nothing.
func ListUnrecorded(ctx context.Context, a *Archiver, r *Record) (list []Unrecorded, err error) {
	named, err := namedObjects(ctx, a, r)
	if err != nil {
		return nil, err
	}
	err = a.opts.Objects.List(ctx, monthDir(r.Dir), func(o objectstore.Object) error {
		dir, name := path.Dir(o.Key)+"/", path.Base(o.Key)
		if dir != r.Dir && !mayHave(dir, r.Table) {
			return nil
		}
		attempt := attemptOf(name)
		if !named[o.Key] && (attempt == "" || !named[dir+attempt]) {
			list = append(list, Unrecorded{Key: o.Key, Size: o.Size})
		}
		return nil
	})
	slices.SortFunc(list, func(a, b Unrecorded) int { return strings.Compare(a.Key, b.Key) })
	return list, err
}

// namedObjects returns the keys of the manifests that records name. For each attempt that a record names, it
// also has the folder with the attempt appended.
func namedObjects(ctx context.Context, a *Archiver, r *Record) (map[string]bool, error) {
	named := map[string]bool{}
	for _, attempt := range r.Attempts {
		named[r.Dir+attempt] = true
	}
	if r.Merged == "" || r.Single { // a later merge deletes the files of the single archive
		key := r.singleKey()
		body, err := a.opts.Objects.Get(ctx, key, 0, -1)
		if err != nil && !errors.Is(err, objectstore.ErrMissing) {
			return nil, err
		}
		ours := err == nil && (r.Merged != "" || objectstore.SumOf(body) == r.Manifest)
		if m, bad := parseManifest(body, r.Table.Name()); ours && bad == nil {
			named[key], named[r.Dir+m.Attempt] = true, true
		}
	}
	merged, err := a.catalog.ListMerged(ctx)
	if err != nil {
		return nil, err
	}
	for i := range merged {
		m := &merged[i]
		named[m.manifestKey()], named[m.Dir+m.attempt()] = true, true
	}
	if r.Merged != "" {
		named[r.ManifestKey()], named[r.Merged+strings.TrimPrefix(NameOfMerged(r.Merged), mergedPrefix)] = true, true
	}
	return named, nil
}
