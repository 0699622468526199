package archive

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/objectstore"
)

var errChanged = errors.New("another process changed the archive: retry later")

// settleAll completes or discards the merged archives of earlier calls.
func (a merger) settleAll(ctx context.Context, existing []grid.Table) error {
	list, err := a.catalog.ListMerged(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for i := range list {
		if err := a.settleMerged(ctx, &list[i], existing); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", list[i].Name, err))
		}
	}
	return errors.Join(errs...)
}

// settleMerged completes a merge. It points the other records with the same readings to the merged archive,
// and deletes the files that the archive has replaced. The files stay while an archive of one of the tables
// is on hold, or while a table with such a record exists. A merged archive to which no record points is
// deleted instead, unless it is damaged.
func (a merger) settleMerged(ctx context.Context, m *Merged, existing []grid.Table) error {
	records, err := a.recordsOf(ctx, m)
	if err != nil {
		return err
	}
	if m.Damaged && m.State == Archived && !refersAny(m, records) {
		return nil // its damaged files may still be of use to the operator
	}
	if m.State != Archived || !refersAny(m, records) {
		return a.discardMerged(ctx, m)
	}
	if !slices.ContainsFunc(records, func(r Record) bool { return r.State == Archived && (r.Merged == "" || m.has(&r) && r.Single) }) {
		return nil // the merge is complete
	}
	manifest, sum, err := a.wholeManifest(ctx, m, records)
	if err != nil {
		return err
	}
	// A process that discards m changes the record of m first, and then rewrites the records of the tables. So
	// if the record of m is unchanged now, a later discard makes the writes below fail, or finds their results.
	if now, found, err := a.catalog.getMerged(ctx, m.Name); err != nil || !found || now.version != m.version {
		return errors.Join(err, errChanged)
	}
	waits := false
	for i := range records {
		r := &records[i]
		switch same := r.State == Archived && r.Merged == "" && r.checkEntry(manifest) == nil; {
		case r.Hold != "":
			waits = true
		case same && !slices.Contains(existing, r.Table):
			if err := a.point(ctx, r, m, manifest, sum); err != nil {
				return err
			}
		case same:
			waits = true // the table still exists; its record can point to m once the table is dropped
		}
	}
	if waits {
		return nil
	}
	for i := range records {
		if r := &records[i]; m.has(r) && r.Single {
			if err := a.deleteReplaced(ctx, r); err != nil {
				return fmt.Errorf("archive of %s: %w", r.Table, err)
			}
		}
	}
	return nil
}

// recordsOf returns the records of the tables of a merged archive, whether they point to it or not.
func (a merger) recordsOf(ctx context.Context, m *Merged) (records []Record, err error) {
	for _, t := range m.Tables {
		r, found, err := a.catalog.Get(ctx, t)
		if err != nil {
			return nil, err
		}
		if found {
			records = append(records, r)
		}
	}
	return records, nil
}

func refersAny(m *Merged, records []Record) bool {
	for i := range records {
		if m.has(&records[i]) {
			return true
		}
	}
	return false
}

// wholeManifest returns the manifest of a merged archive, if all its files are whole.
func (a merger) wholeManifest(ctx context.Context, m *Merged, records []Record) (manifest *Manifest, sum string, err error) {
	for i := range records {
		r := &records[i]
		if !m.has(r) {
			continue
		}
		if manifest, err = a.files.manifest(ctx, r); err != nil {
			return nil, "", err
		}
		sum = r.Manifest
	}
	if manifest == nil {
		return nil, "", errors.New("no record points to it")
	}
	return manifest, sum, a.files.examine(ctx, manifest, m.Dir)
}

// deleteReplaced deletes the files of a table's own archive that a merge has replaced. If an archive of the
// table was ever accepted, or an earlier one may have more readings, the files of the table's other archives stay.
func (a merger) deleteReplaced(ctx context.Context, r *Record) error {
	more, err := a.files.mayHaveMore(ctx, r)
	if err != nil {
		return err
	}
	if r.Accepted == "" && !more {
		return a.deleteSingle(ctx, r)
	}
	body, err := a.opts.Objects.Get(ctx, r.singleKey(), 0, -1)
	if err == nil {
		err = a.deleteEqual(ctx, r, body)
	}
	if err != nil && !errors.Is(err, objectstore.ErrMissing) {
		return err
	}
	next := *r
	next.Single = false
	if err := a.catalog.put(ctx, &next); err != nil {
		return err
	}
	*r = next
	return nil
}

// deleteEqual deletes the table's own archive that a manifest describes, if it has the readings of the record.
func (a merger) deleteEqual(ctx context.Context, r *Record, manifest []byte) error {
	m, err := parseManifest(manifest, r.Table.Name())
	if err != nil {
		return nil //nolint:nilerr // the object belongs to another program
	}
	if total := m.total(); !total.equals(r.Readings, r.Digest) {
		return nil
	}
	for _, f := range m.allFiles() {
		if err := a.opts.Objects.Delete(ctx, r.Dir+f.Name); err != nil {
			return err
		}
	}
	return a.opts.Objects.Delete(ctx, r.singleKey())
}

// deleteSingle deletes the files of the table's own archives, and records that they are deleted. Their
// readings are in a merged archive. The caller has checked that its files are whole.
func (a merger) deleteSingle(ctx context.Context, r *Record) error {
	files, manifests, err := a.files.ownObjects(ctx, r)
	if err != nil {
		return err
	}
	for _, key := range append(files, manifests...) {
		if err := a.opts.Objects.Delete(ctx, key); err != nil {
			return err
		}
	}
	next := *r
	next.Single, next.Attempts = false, nil
	if err := a.catalog.put(ctx, &next); err != nil {
		return err
	}
	*r = next
	return nil
}

// discardMerged deletes a merged archive to which no record points. It fails if the archive may have the
// only copy of a table. A process that was interrupted may still try to point records to the archive. So
// the records are written once more, unchanged: then the attempts of that process fail.
func (a merger) discardMerged(ctx context.Context, m *Merged) error {
	records, err := a.recordsOf(ctx, m)
	if err != nil {
		return err
	}
	if err := a.checkOwn(ctx, m, records); err != nil {
		return fmt.Errorf("it is not deleted: %w", err)
	}
	if m.State != Expiring {
		if err := a.catalog.putMerged(ctx, m, Expiring); err != nil {
			return err
		}
	}
	if records, err = a.recordsOf(ctx, m); err != nil {
		return err
	}
	for i := range records {
		if !m.has(&records[i]) {
			err := a.catalog.put(ctx, &records[i])
			if err != nil {
				return err
			}
			continue
		}
		return errors.Join(a.catalog.putMerged(ctx, m, Archived), errors.New("a record points to it, and it is not deleted"))
	}
	if err := a.deleteFiles(ctx, m); err != nil {
		return err
	}
	return a.catalog.deleteMerged(ctx, m)
}

// deleteFiles deletes the objects of a merged archive to which no record points.
func (a merger) deleteFiles(ctx context.Context, m *Merged) error {
	var keys []string
	err := a.opts.Objects.List(ctx, m.Dir, func(o objectstore.Object) error {
		if attempt := attemptOf(o.Key[len(m.Dir):]); attempt != "" && attempt == m.attempt() {
			keys = append(keys, o.Key)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, key := range append(keys, m.manifestKey()) { // the manifest names the files, so it is deleted last
		if err := a.opts.Objects.Delete(ctx, key); err != nil {
			return err
		}
	}
	return nil
}

// removeTime is how long the deletion of files after a failure may take.
const removeTime = time.Minute

// removeDiscarded handles a failure while a merged archive was being written. If another process has
// discarded it meanwhile, files that were written after that belong to no record, and are deleted. The
// result includes the failure.
func (a merger) removeDiscarded(ctx context.Context, m *Merged, failure error) error {
	if m.version == 0 {
		return failure // neither the record nor any file of m was written
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), removeTime) // a lost lease ends the given context
	defer cancel()
	_, found, err := a.catalog.getMerged(ctx, m.Name)
	if err == nil && !found {
		err = a.deleteFiles(ctx, m)
	}
	return errors.Join(failure, err)
}

// errMerging means that a merged archive with readings of a table is being written or deleted.
func errMerging(t grid.Table) error {
	return varve.Errorf(varve.Unavailable, "the archive of %s is being merged: retry later", t)
}
