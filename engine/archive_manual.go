package engine

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/archive"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/store"
)

// ArchiveNow archives tables by name, whether their readings have expired or not. It fails for missing
// tables, for tables of other programs, and for tables to which readings may still be written. It
// fails with varve.Unavailable while another job writes, merges or deletes archives.
func (e *Engine) ArchiveNow(ctx context.Context, tables []grid.Table) (records []archive.Record, err error) {
	err = aloneWithArchives(e)(ctx, func(ctx context.Context) error {
		records, err = archiveAlone(ctx, e, tables)
		return err
	})
	return records, err
}

// archiveAlone does the work of ArchiveNow. No other job may write or delete archives meanwhile.
func archiveAlone(ctx context.Context, e *Engine, tables []grid.Table) (records []archive.Record, err error) {
	infos, err := e.Rotator.Tables(ctx)
	if err != nil {
		return nil, err
	}
	due := map[grid.Table]*store.Info{}
	for i := range infos {
		due[infos[i].Table] = &infos[i]
	}
	policy := e.Rotator.Policy()
	for _, t := range tables {
		switch in := due[t]; {
		case in == nil:
			return nil, varve.Errorf(varve.NotFound, "table %s does not exist", t)
		case !in.Owned:
			return nil, varve.Errorf(varve.Conflict, "table %s has no owner tag: it belongs to another program", t)
		case e.Now().Before(in.Month.End().Add(policy.Seal)):
			return nil, varve.Errorf(varve.Conflict, "table %s may still be written to: archive it after %s", t, in.Month.End().Add(policy.Seal).Format(time.RFC3339))
		}
	}
	for _, t := range slices.SortedFunc(maps.Keys(toSet(tables)), grid.Table.Compare) {
		begin := time.Now()
		r, err := e.Archiver.Archive(ctx, due[t])
		e.archives.record(e.Now(), t, r, time.Since(begin), err)
		if err != nil {
			return records, err
		}
		records = append(records, r)
	}
	return records, nil
}

func toSet(tables []grid.Table) map[grid.Table]bool {
	set := map[grid.Table]bool{}
	for _, t := range tables {
		set[t] = true
	}
	return set
}

// ArchiveRestorer restores dropped tables.
type ArchiveRestorer struct{ *Engine }

// Restore writes the readings of a dropped table back from its archive. It fails with varve.Unavailable while
// another job writes, merges or deletes archives. Otherwise, an erasure that runs at the same time could miss
// restored readings.
func (e ArchiveRestorer) Restore(ctx context.Context, t grid.Table) error {
	return aloneWithArchives(e.Engine)(ctx, func(ctx context.Context) error {
		r, found, err := e.Archiver.Catalog().Get(ctx, t)
		if err != nil {
			return err
		}
		if !found {
			return varve.Errorf(varve.NotFound, "table %s has no archive", t)
		}
		return e.Archiver.Restore(ctx, &r, e.Store)
	})
}
