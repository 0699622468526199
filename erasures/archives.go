package erasures

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/archive"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/store"
)

// foundArchive is an archive that may have readings of a target.
type foundArchive struct {
	table  grid.Table
	merged string  // prefix of the merged archive that has the table's readings; "" if the archive is single
	hold   string  // reason of the hold on the table or its archive; "" if neither is on hold
	counts []Count // numbers of readings by stream, in all days that the window touches
	// earlier means that other archives of the table may exist, with readings of the target.
	earlier bool
}

// findArchives finds the archives that may have readings of a target.
func (e *Eraser) findArchives(ctx context.Context, s *scope) (list []foundArchive, err error) {
	records, err := archive.Catalog{Items: e.opts.Items}.List(ctx)
	if err != nil {
		return nil, err
	}
	holds := map[grid.Table]string{}
	for i := range s.tables {
		holds[s.tables[i].Table] = s.tables[i].Hold
	}
	leftover, err := e.leftover(ctx)
	if err != nil {
		return nil, err
	}
	for i := range records {
		r := &records[i]
		if !r.Table.Overlaps(s.Window) {
			continue
		}
		if e.opts.Archiver == nil {
			return nil, errNoArchiver(r.Table, s)
		}
		found := foundArchive{table: r.Table, merged: r.Merged, hold: cmp.Or(holds[r.Table], r.Hold)}
		series, earlier, err := e.opts.Archiver.CountDevice(ctx, r, s.Tenant, s.Device, s.Window)
		if err != nil {
			return nil, err
		}
		found.earlier = earlier || leftover[r.Table]
		delete(leftover, r.Table)
		for _, c := range series {
			if s.Stream == "" || c.Series.Stream == s.Stream {
				found.counts = append(found.counts, Count{Table: r.Table.Name(), Stream: c.Series.Stream, Readings: c.Readings, Hold: found.hold})
			}
		}
		if found.earlier || len(found.counts) > 0 {
			list = append(list, found)
		}
	}
	// The remaining tables have readings in merged archives, but no records.
	for _, t := range slices.SortedFunc(maps.Keys(leftover), grid.Table.Compare) {
		if t.Overlaps(s.Window) {
			if e.opts.Archiver == nil {
				return nil, errNoArchiver(t, s)
			}
			list = append(list, foundArchive{table: t, hold: holds[t], earlier: true})
		}
	}
	return list, nil
}

// errNoArchiver returns the error for an archive that may have readings of a target, if no archive is
// configured.
func errNoArchiver(t grid.Table, s *scope) error {
	return varve.Errorf(varve.Conflict, "the archive of %s may have readings of device %s: set archive.kind first", t, s.Device)
}

// leftover returns the result of archive.Catalog.Leftover as a set.
func (e *Eraser) leftover(ctx context.Context) (map[grid.Table]bool, error) {
	set := map[grid.Table]bool{}
	tables, err := archive.Catalog{Items: e.opts.Items}.Leftover(ctx)
	for _, t := range tables {
		set[t] = true
	}
	return set, err
}

// archiveOf is the prefix of the name of an archive in the counts of a record.
const archiveOf = "archive of "

// eraseArchives rewrites the archives that have readings of the target, except archives on hold and the
// archives of tables on hold. It runs after the erasure of tables. So an archive never lacks a reading
// that its table still has, and no table is dropped without a copy of its readings.
func (p *pass) eraseArchives(ctx context.Context) error {
	archives, err := p.findArchives(ctx)
	if err != nil || len(archives) == 0 {
		return err
	}
	return p.e.opts.AloneWithArchives(ctx, p.eraseArchivesAlone)
}

// findArchives finds the archives of the target. It also finds the tables once more, because one may have
// been put on hold meanwhile.
func (p *pass) findArchives(ctx context.Context) ([]foundArchive, error) {
	now, err := p.e.find(ctx, p.record.Target)
	if err != nil {
		return nil, err
	}
	return p.e.findArchives(ctx, &now)
}

// eraseArchivesAlone does the work of eraseArchives. No other job may write or delete archives meanwhile.
func (p *pass) eraseArchivesAlone(ctx context.Context) error {
	archives, err := p.findArchives(ctx)
	if err != nil {
		return err
	}
	var open []foundArchive
	for i := range archives {
		if archives[i].hold != "" {
			p.recordHold(&archives[i])
		} else {
			open = append(open, archives[i])
		}
	}
	for len(open) > 0 {
		// The tables of a merged archive are erased together, so that it is rewritten once.
		same := func(f foundArchive) bool {
			return f.table == open[0].table || f.merged != "" && f.merged == open[0].merged
		}
		var tables []grid.Table
		for _, f := range open {
			if same(f) {
				tables = append(tables, f.table)
			}
		}
		if err := p.eraseTogether(ctx, tables); err != nil {
			return err
		}
		open = slices.DeleteFunc(open, func(f foundArchive) bool { return slices.Contains(tables, f.table) })
	}
	return nil
}

// eraseTogether rewrites the archives of tables, and counts the erased readings.
func (p *pass) eraseTogether(ctx context.Context, tables []grid.Table) error {
	if err := p.lease.Check(ctx); err != nil {
		return err
	}
	r := p.record
	x := store.Erasure{Window: r.Window, Arrived: r.Arrived}
	erased, failed := p.e.opts.Archiver.Erase(ctx, tables, func(rd *varve.Reading) bool {
		return rd.Tenant == r.Tenant && rd.Device == r.Device && (r.Stream == "" || rd.Stream == r.Stream) && x.Covers(rd.Time, rd.Arrived)
	}, p.begin)
	for _, t := range slices.SortedFunc(maps.Keys(erased), grid.Table.Compare) {
		if n := erased[t]; n > 0 {
			p.erased += n
			r.Erased = addCount(r.Erased, archiveOf+t.Name(), r.Stream, n)
			if err := p.e.put(ctx, r); err != nil {
				return errors.Join(failed, err)
			}
		}
	}
	return failed
}

// recordHold records that an archive stays because of a hold. Earlier archives are not counted, but they
// may have readings of the target.
func (p *pass) recordHold(found *foundArchive) {
	counts := found.counts
	if len(counts) == 0 {
		counts = []Count{{Table: found.table.Name(), Stream: p.record.Stream, Hold: found.hold}}
	}
	for _, c := range counts {
		c.Table = archiveOf + c.Table
		p.holds = append(p.holds, c)
	}
}
