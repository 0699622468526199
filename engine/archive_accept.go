package engine

import (
	"context"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/archive"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/store"
)

// ArchiveAcceptor makes the records of tables describe their stored archives.
type ArchiveAcceptor struct{ *Engine }

// Plan compares the record of a table's archive with the stored archive. It changes nothing.
func (e ArchiveAcceptor) Plan(ctx context.Context, t grid.Table) (*archive.Acceptance, error) {
	in, err := e.ownTable(ctx, t)
	if err != nil {
		return nil, err
	}
	return archive.NewAcceptor(e.Archiver).Plan(ctx, t, in)
}

// Accept makes the record of a table describe its stored archive. The digest is Acceptance.Digest of a plan.
// Accept fails if this plan has changed since then. It fails with varve.Unavailable while another job writes,
// merges or deletes archives.
func (e ArchiveAcceptor) Accept(ctx context.Context, t grid.Table, digest string) (r archive.Record, err error) {
	err = aloneWithArchives(e.Engine)(ctx, func(ctx context.Context) error {
		in, err := e.ownTable(ctx, t)
		if err == nil {
			r, err = archive.NewAcceptor(e.Archiver).ReadTables(e.ownTable).Accept(ctx, t, in, digest)
		}
		return err
	})
	return r, err
}

// ownTable returns the description of a table, or nil if it does not exist. It fails for tables of other
// programs.
func (e ArchiveAcceptor) ownTable(ctx context.Context, t grid.Table) (*store.Info, error) {
	infos, err := e.Rotator.Tables(ctx)
	if err != nil {
		return nil, err
	}
	for i := range infos {
		if in := &infos[i]; in.Table == t {
			if !in.Owned {
				return nil, varve.Errorf(varve.Conflict, "table %s has no owner tag: it belongs to another program", t)
			}
			return in, nil
		}
	}
	return nil, nil
}
