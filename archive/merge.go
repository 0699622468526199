package archive

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/varvedb/varve/archive/parquetfile"
	"github.com/varvedb/varve/block"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/objectstore"
	"github.com/varvedb/varve/store/tablescan"
)

const (
	// mergedBytes is the maximum total size of the archives that are merged into one, so that large
	// archives are not rewritten.
	mergedBytes = 1 << 30
	// mergedTables is the largest number of tables of a merged archive.
	mergedTables = 32
	// mergedRows bounds the rows in memory during a merge, which decodes one row group of each table at a
	// time.
	mergedRows = 8 * parquetfile.GroupRows
)

type merger struct{ *Archiver }

// Merge merges the archives of dropped tables, by class and arrival month. A month is merged once none of its
// tables is among the existing ones. Archives on hold are not merged.
//
// Merge first completes the merges of earlier calls: it deletes the files that a merged archive has
// replaced, and the leftovers of interrupted merges. So it deletes no file that it has replaced in
// the same call. If the argument "begin" is false, Merge only completes earlier merges. It returns
// the new merged archives.
func (a *Archiver) Merge(ctx context.Context, existing []grid.Table, begin bool) (done []Merged, err error) {
	m := merger{a}
	errs := []error{m.settleAll(ctx, existing)}
	if !begin {
		return nil, errs[0]
	}
	records, err := a.catalog.List(ctx)
	if err != nil {
		return nil, errors.Join(append(errs, err)...)
	}
	for _, all := range mergeable(records, existing) {
		failed := func(group []Record, err error) {
			errs = append(errs, fmt.Errorf("merge %d archives of %s, %s: %w", len(group), group[0].Class, group[0].Table.Month, err))
		}
		groups, err := m.splitByMemory(ctx, all)
		if err != nil {
			failed(all, err)
			continue
		}
		for _, group := range groups {
			one, err := m.mergeGroup(ctx, group)
			if err != nil {
				failed(group, m.removeDiscarded(ctx, &one, err))
				continue
			}
			done = append(done, one)
		}
	}
	return done, errors.Join(errs...)
}

// mergeKey is the class and arrival month of tables that may be merged. The prefix of a table depends on its
// class.
type mergeKey struct {
	prefix string
	month  grid.Month
	class  string
}

// mergeable returns the groups of records to merge, each in the order of the event ranges.
func mergeable(records []Record, existing []grid.Table) (groups [][]Record) {
	alive := map[mergeKey]bool{}
	for _, t := range existing {
		alive[mergeKey{prefix: t.Prefix, month: t.Month}] = true
	}
	byKey := map[mergeKey][]Record{}
	var keys []mergeKey
	for i := range records {
		r := &records[i]
		key := mergeKey{prefix: r.Table.Prefix, month: r.Table.Month}
		if r.State != Archived || r.Merged != "" || r.Hold != "" || alive[key] {
			continue
		}
		key.class = r.Class
		if byKey[key] == nil {
			keys = append(keys, key)
		}
		byKey[key] = append(byKey[key], *r)
	}
	for _, key := range keys {
		groups = append(groups, splitGroup(byKey[key])...)
	}
	return groups
}

// splitGroup divides the records of a class and arrival month into groups of bounded size. A table is left
// out if it overlaps an earlier one, has more than mergedBytes, or is alone in its group.
func splitGroup(records []Record) (groups [][]Record) {
	slices.SortFunc(records, func(a, b Record) int {
		return cmp.Or(cmp.Compare(a.Table.Start, b.Table.Start), cmp.Compare(a.Table.End, b.Table.End))
	})
	var group []Record
	size, rows, end := int64(0), int64(0), int64(0)
	flush := func() {
		if len(group) > 1 {
			groups = append(groups, group)
		}
		group, size, rows = nil, 0, 0
	}
	for i := range records {
		r := &records[i]
		if r.Table.Start < end {
			continue
		}
		groupRows := min(r.Readings, parquetfile.GroupRows)
		if len(group) == mergedTables || size+r.Bytes > mergedBytes || rows+groupRows > mergedRows {
			flush()
		}
		if r.Bytes <= mergedBytes {
			group, size, rows, end = append(group, *r), size+r.Bytes, rows+groupRows, r.Table.End
		}
	}
	flush()
	return groups
}

// mergeGroup merges archives. The records are in the order of the event ranges.
func (a merger) mergeGroup(ctx context.Context, group []Record) (Merged, error) {
	if err := a.examineAll(ctx, group); err != nil {
		return Merged{}, err
	}
	m, err := a.beginMerged(ctx, group)
	if err != nil {
		return m, err
	}
	// Read the records once more, because one may have changed before beginMerged. A process that
	// changes one of them later finds the record of the merged archive.
	if group, err = a.reread(ctx, group); err != nil {
		return m, err
	}
	streams, replaces := make([]archiveStream, len(group)), []TableEntry(nil)
	for i := range group {
		old, err := a.files.manifest(ctx, &group[i])
		if err != nil {
			return m, fmt.Errorf("archive of %s: %w", group[i].Table, err)
		}
		streams[i] = archiveStream{files: &a.files, manifest: old, dir: group[i].FilesDir()}
		replaces = append(replaces, old.Replaces...)
	}
	manifest, body, err := a.writeMerged(ctx, &m, group[0].Class, replaces, func(to tablescan.Sink) error {
		return eachMerged(ctx, streams, func(b *block.Block) error {
			if err := to.Part(&block.Part{Block: b, From: 0, To: b.Len()}); err != nil {
				return err
			}
			return a.limitRate(ctx, b.Len())
		})
	})
	if err != nil {
		return m, err
	}
	for i := range group {
		e := manifest.entryOf(group[i].Table)
		if e == nil || e.Readings != group[i].Readings || e.Digest != group[i].Digest || e.Series != group[i].Series {
			return m, fmt.Errorf("the merged archive has %+v, want %d readings of %s with digest %s", e, group[i].Readings, group[i].Table, group[i].Digest)
		}
	}
	return m, a.adoptMerged(ctx, &m, manifest, body, group)
}

// examineAll fails unless all archives are whole. So a damaged archive is found before files are written.
func (a merger) examineAll(ctx context.Context, group []Record) error {
	for i := range group {
		r := &group[i]
		m, err := a.files.manifest(ctx, r)
		if err == nil {
			err = a.files.examine(ctx, m, r.FilesDir())
		}
		if err == nil && slices.ContainsFunc(m.Files, func(f FileEntry) bool { return len(f.Groups) == 0 }) {
			err = errors.New("its manifest does not describe the row groups")
		}
		if err != nil {
			return fmt.Errorf("archive of %s: %w", r.Table, err)
		}
	}
	return nil
}

func (a merger) reread(ctx context.Context, group []Record) ([]Record, error) {
	next := make([]Record, len(group))
	for i := range group {
		r, found, err := a.catalog.Get(ctx, group[i].Table)
		if err != nil {
			return nil, err
		}
		if !found || r.version != group[i].version {
			return nil, fmt.Errorf("the archive of %s has changed: retry later", group[i].Table)
		}
		next[i] = r
	}
	return next, nil
}

// beginMerged records a merged archive before its first file is written.
func (a merger) beginMerged(ctx context.Context, group []Record) (m Merged, err error) {
	attempt, err := newAttempt()
	if err != nil {
		return m, err
	}
	m.Name = mergedPrefix + attempt
	span := group[0].Table.Range
	for i := range group {
		m.Tables = append(m.Tables, group[i].Table)
		span.End = max(span.End, group[i].Table.End)
	}
	m.Dir = dirOf(a.opts.Prefix, group[0].Class, group[0].Table.Month, span, m.Name)
	return m, a.catalog.putMerged(ctx, &m, Writing)
}

// writeMerged writes the files and the manifest of a merged archive, reads them back and recounts them.
func (a merger) writeMerged(ctx context.Context, m *Merged, class string, replaces []TableEntry, scan func(tablescan.Sink) error) (*Manifest, []byte, error) {
	manifest, err := a.writeFrom(ctx, place{name: m.Name, class: class, dir: m.Dir, attempt: m.attempt(), tables: m.Tables, replaces: replaces}, scan)
	if err != nil {
		return nil, nil, err
	}
	body, err := manifest.encode()
	if err != nil {
		return nil, nil, err
	}
	if err := a.files.putManifest(ctx, m.manifestKey(), body); err != nil {
		return nil, nil, err
	}
	return manifest, body, a.files.verify(ctx, manifest, m.Dir)
}

// adoptMerged marks a merged archive as whole, and points records to it. If a record has changed
// since it was read, adoptMerged fails and leaves that record as it is.
func (a merger) adoptMerged(ctx context.Context, m *Merged, manifest *Manifest, body []byte, records []Record) error {
	if err := a.catalog.putMerged(ctx, m, Archived); err != nil {
		return err
	}
	sum := objectstore.SumOf(body)
	for i := range records {
		if err := a.point(ctx, &records[i], m, manifest, sum); err != nil {
			return err
		}
	}
	return nil
}

// point makes a record point to a merged archive.
func (a merger) point(ctx context.Context, r *Record, m *Merged, manifest *Manifest, sum string) error {
	e := manifest.entryOf(r.Table)
	if e == nil {
		return fmt.Errorf("%s lacks table %s", m.Name, r.Table)
	}
	next := *r
	next.Merged, next.Manifest, next.Single = m.Dir, sum, r.Single || r.Merged == ""
	next.Readings, next.Series, next.Digest, next.Files = e.Readings, e.Series, e.Digest, int64(len(manifest.Files))
	if next.Bytes = manifest.Bytes(); manifest.Readings > 0 {
		next.Bytes = int64(float64(next.Bytes) * float64(e.Readings) / float64(manifest.Readings))
	}
	if err := a.catalog.put(ctx, &next); err != nil {
		return err
	}
	*r = next
	return nil
}
