package archive

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
)

// Expire deletes the archives that are older than the retention and whose tables are dropped. The
// function "exists" reports whether a table still exists. Archives of existing tables and archives
// on hold are kept. Expire returns the deleted records.
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
	if len(deleted) > 0 {
		errs = append(errs, merger{a}.discardUnused(ctx))
	}
	return deleted, errors.Join(errs...)
}

// DiscardUnfinished deletes the unfinished archives of dropped tables, which cannot be completed. Their records
// would block erasures. The function "exists" reports whether a table still exists.
//
// If an attempt has written a manifest, its archive stays, and DiscardUnfinished fails. Archives on hold stay, too.
func DiscardUnfinished(ctx context.Context, a *Archiver, exists func(grid.Table) bool) error {
	records, err := a.catalog.List(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for i := range records {
		r := &records[i]
		if r.State != Writing || r.Hold != "" || exists(r.Table) {
			continue
		}
		if err := discardUnfinished(ctx, a, r); err != nil {
			errs = append(errs, fmt.Errorf("delete the unfinished archive of %s: %w", r.Table, err))
		}
	}
	return errors.Join(errs...)
}

func discardUnfinished(ctx context.Context, a *Archiver, r *Record) error {
	named, _, err := NewAcceptor(a).namedAttempts(ctx, r)
	if err != nil {
		return err
	}
	if len(named) > 0 {
		return varve.Errorf(varve.Conflict, "it may be complete, and its table is dropped: use varve archive accept %s", r.Table)
	}
	if err := a.deleteLeftovers(ctx, r); err != nil {
		return err
	}
	return a.catalog.delete(ctx, r)
}

// deleteArchive deletes the table's own objects of all generations, and then the record. It first marks the
// record, so that no reader relies on the files. The files of a merged archive are deleted once no record
// points to it: see discardUnused.
func (a *Archiver) deleteArchive(ctx context.Context, r *Record) error {
	if r.State != Expiring {
		marked := *r
		marked.State = Expiring
		if err := a.catalog.put(ctx, &marked); err != nil {
			return err
		}
		*r = marked
	}
	files, manifests, err := a.files.ownObjects(ctx, r)
	if err != nil {
		return err
	}
	files = append(files, manifests...) // a manifest names the files, so it is deleted after the files
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
