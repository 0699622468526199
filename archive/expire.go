package archive

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/objectstore"
)

// Expire deletes the archives that are older than the retention and whose tables are dropped. The
// function exists reports whether a table still exists. Archives of existing tables and archives on
// hold are kept. Expire returns the deleted records.
func (a *Archiver) Expire(ctx context.Context, retention time.Duration, exists func(grid.Table) bool) (deleted []Record, err error) {
	records, err := a.catalog.List(ctx)
	if err != nil {
		return nil, err
	}
	var errs []error
	for i := range records {
		r := &records[i]
		due := r.State == Archived && !r.At.IsZero() && !a.opts.Now().Before(r.At.Add(retention))
		if exists(r.Table) || (!due || r.Hold != "") && r.State != Expiring {
			continue
		}
		if err := a.deleteArchive(ctx, r); err != nil {
			errs = append(errs, fmt.Errorf("delete archive of %s: %w", r.Table, err))
			continue
		}
		deleted = append(deleted, *r)
	}
	return deleted, errors.Join(errs...)
}

// deleteArchive deletes the objects of all generations, and then the record. It first marks the
// record, so that no reader relies on the files.
func (a *Archiver) deleteArchive(ctx context.Context, r *Record) error {
	if r.State != Expiring {
		marked := *r
		marked.State = Expiring
		if err := a.catalog.put(ctx, &marked); err != nil {
			return err
		}
		*r = marked
	}
	var files []string
	ours, err := a.files.attemptsWithManifest(ctx, r)
	if err != nil {
		return err
	}
	err = a.opts.Objects.List(ctx, r.Dir, func(o objectstore.Object) error {
		if ours[attemptOf(o.Key[len(r.Dir):])] {
			files = append(files, o.Key)
		}
		return nil
	})
	if err != nil {
		return err
	}
	// A manifest names the files, so it is deleted after them.
	for n := 1; n <= r.Generation; n++ {
		files = append(files, r.Dir+manifestName(n))
	}
	for _, key := range files {
		if err := a.opts.Objects.Delete(ctx, key); err != nil {
			return err
		}
	}
	return a.catalog.delete(ctx, r)
}

// Hold puts the archive of a table on hold, so that it is not deleted after its retention. An empty
// reason releases it. A hold also covers later archives of the table.
func (c Catalog) Hold(ctx context.Context, t grid.Table, reason string) (Record, error) {
	r, found, err := c.Get(ctx, t)
	switch {
	case err != nil:
		return r, err
	case !found:
		return r, varve.Errorf(varve.NotFound, "table %s has no archive", t)
	case r.State == Expiring:
		return r, varve.Errorf(varve.Conflict, "the archive of table %s has expired and is being deleted", t)
	}
	r.Hold = reason
	return r, c.put(ctx, &r)
}
