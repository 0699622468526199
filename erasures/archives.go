package erasures

import (
	"cmp"
	"context"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/archive"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/store"
)

// foundArchive is an archive that may have readings of a target.
type foundArchive struct {
	table  grid.Table
	hold   string  // the reason of the hold on its table, or on the archive itself
	counts []Count // readings in whole days
	// earlier means that earlier archives of the table exist, which may have readings of the target.
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
	for i := range records {
		r := &records[i]
		if !r.Table.Overlaps(s.Window) {
			continue
		}
		if e.opts.Archiver == nil {
			return nil, varve.Errorf(varve.Conflict, "the archive of %s may have readings of device %s: set archive.kind first", r.Table, s.Device)
		}
		found := foundArchive{table: r.Table, hold: cmp.Or(holds[r.Table], r.Hold)}
		series, earlier, err := e.opts.Archiver.CountDevice(ctx, r, s.Tenant, s.Device, s.Window)
		if err != nil {
			return nil, err
		}
		found.earlier = earlier
		for _, c := range series {
			if s.Stream == "" || c.Series.Stream == s.Stream {
				found.counts = append(found.counts, Count{Table: r.Table.Name(), Stream: c.Series.Stream, Readings: c.Readings, Hold: found.hold})
			}
		}
		if earlier || len(found.counts) > 0 {
			list = append(list, found)
		}
	}
	return list, nil
}

// archiveOf is the prefix of the name of an archive in the counts of a record.
const archiveOf = "archive of "

// eraseArchives rewrites the archives that have readings of the target, except archives on hold and the
// archives of tables on hold. It runs after the erasure of tables. So an archive never lacks a reading
// that its table still has, and no table is dropped without a copy of its readings.
func (p *pass) eraseArchives(ctx context.Context) error {
	r := p.record
	now, err := p.e.find(ctx, r.Target) // a table may have been put on hold meanwhile
	if err != nil {
		return err
	}
	archives, err := p.e.findArchives(ctx, &now)
	if err != nil {
		return err
	}
	for i := range archives {
		found := &archives[i]
		if found.hold != "" {
			p.keepArchive(found)
			continue
		}
		if err := p.lease.Check(ctx); err != nil {
			return err
		}
		x := store.Erasure{Window: r.Window, Arrived: r.Arrived}
		n, err := p.e.opts.Archiver.Erase(ctx, found.table, func(rd *varve.Reading) bool {
			return rd.Tenant == r.Tenant && rd.Device == r.Device && (r.Stream == "" || rd.Stream == r.Stream) && x.Covers(rd.Time, rd.Arrived)
		})
		if err != nil {
			return err
		}
		if n > 0 {
			p.erased += n
			r.Erased = addCount(r.Erased, archiveOf+found.table.Name(), r.Stream, n)
			if err := p.e.put(ctx, r); err != nil {
				return err
			}
		}
	}
	return nil
}

// keepArchive records that an archive stays because of a hold. Earlier archives are not counted, but they
// may have readings of the target.
func (p *pass) keepArchive(found *foundArchive) {
	counts := found.counts
	if len(counts) == 0 {
		counts = []Count{{Table: found.table.Name(), Stream: p.record.Stream, Hold: found.hold}}
	}
	for _, c := range counts {
		c.Table = archiveOf + c.Table
		p.holds = append(p.holds, c)
	}
}
