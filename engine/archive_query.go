package engine

import (
	"context"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/archive"
	"github.com/varvedb/varve/query"
	"github.com/varvedb/varve/store"
)

type archivedTables struct {
	reader      *archive.Reader
	exact       bool // the catalog counts readings exactly
	wholeTables bool // readings are deleted only with their table
}

// archivedTables returns query.Options.Archive, or nil without an archive.
func (e *Engine) archivedTables(o Options) query.Archive {
	if e.Archives == nil {
		return nil
	}
	_, expires := o.Store.(store.ExpiredKeeper) // its database may have deleted readings under earlier settings
	return &archivedTables{reader: e.Archives, exact: o.Archive.ExactCounts, wholeTables: !expires && (o.Rotation.ArchiveFirst || !o.Rotation.Drop)}
}

// List implements query.Archive.
func (a *archivedTables) List(ctx context.Context, prefixes []string, w varve.Window) ([]query.Archived, error) {
	records, err := a.reader.List(ctx, prefixes, w)
	if err != nil {
		return nil, err
	}
	list := make([]query.Archived, len(records))
	reads := a.reader.Share() // the reads of one query
	for i := range records {
		r := &records[i]
		list[i] = query.Archived{
			Table: r.Table,
			Open: func(rng store.Range) func(context.Context, int) (store.BlockPage, error) {
				return reads.Open(r, rng).Next
			},
			Estimate: func(ctx context.Context, rng store.Range) (store.Cost, error) {
				n, err := reads.Estimate(ctx, r, rng)
				return store.Cost{Requests: n}, err
			},
			IsIn: func(in *store.Info) bool { return a.isIn(in, r) },
		}
	}
	return list, nil
}

// isIn reports whether a table has all readings of its archive. The table may lack some in two
// cases:
//
//   - Expired readings are deleted before their table, or were deleted before it under earlier settings.
//   - The table was recreated after it was archived, so it may come from an incomplete restore.
func (a *archivedTables) isIn(in *store.Info, r *archive.Record) bool {
	if a.exact {
		return in.Readings == r.Readings
	}
	return a.wholeTables && in.Created.Before(r.At)
}
