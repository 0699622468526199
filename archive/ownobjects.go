package archive

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/varvedb/varve/objectstore"
)

// ownObjects returns the objects of a table's own archives, and the leftovers of its attempts. It fails if a
// manifest is not readable and files exist that no other manifest names.
func (o *files) ownObjects(ctx context.Context, r *Record) (files, manifests []string, err error) {
	ours := map[string]bool{}
	for _, attempt := range r.Attempts {
		ours[attempt] = true
	}
	numbers, err := o.generations(ctx, r)
	if err != nil {
		return nil, nil, err
	}
	for _, n := range numbers {
		key := r.Dir + manifestName(n)
		body, err := o.objects.Get(ctx, key, 0, -1)
		if errors.Is(err, objectstore.ErrMissing) {
			continue
		}
		if err != nil {
			return nil, nil, err
		}
		m, err := parseManifest(body, r.Table.Name())
		if err != nil {
			if err := o.checkUnnamed(ctx, r, key); err != nil {
				return nil, nil, err
			}
			continue // the object belongs to another program
		}
		ours[m.Attempt], manifests = true, append(manifests, key)
	}
	err = o.objects.List(ctx, r.Dir, func(found objectstore.Object) error {
		if ours[attemptOf(found.Key[len(r.Dir):])] {
			files = append(files, found.Key)
		}
		return nil
	})
	return files, manifests, err
}

// checkUnnamed fails if files exist that no manifest and no attempt names. They belong to a manifest
// that cannot be read, and may have any reading of the table.
func (o *files) checkUnnamed(ctx context.Context, r *Record, manifest string) error {
	named, err := o.attemptsWithManifest(ctx, r)
	if err != nil {
		return err
	}
	return o.objects.List(ctx, r.Dir, func(found objectstore.Object) error {
		attempt := attemptOf(found.Key[len(r.Dir):])
		if attempt == "" || named[attempt] || slices.Contains(r.Attempts, attempt) {
			return nil
		}
		return fmt.Errorf("%s belongs to no manifest, and %s is not readable: delete both by hand", found.Key, manifest)
	})
}
