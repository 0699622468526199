package rotator

import (
	"context"
	"errors"
	"fmt"

	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/store"
)

// ArchiveError means that a table was not dropped, because its archive is missing or failed its
// check.
type ArchiveError struct{ Err error }

func (e *ArchiveError) Error() string {
	return fmt.Sprintf("its archive is not whole: %s: see varve archive list", e.Err)
}

// Unwrap returns the cause.
func (e *ArchiveError) Unwrap() error { return e.Err }

var errNoArchive = errors.New("no archive is configured")

// skipNotArchived removes from a plan the drops of tables without a verified archive. If it cannot
// find out which tables are archived, it removes all drops.
func (r *Rotator) skipNotArchived(ctx context.Context, p *Plan) error {
	if !r.opts.Policy.ArchiveFirst || p.Counts()[Drop] == 0 {
		return nil
	}
	archived, err := r.opts.Archived, errNoArchive
	var why func(grid.Table) string
	if archived != nil {
		why, err = archived(ctx)
	}
	if err != nil {
		err = fmt.Errorf("find archived tables: %w", err)
		why = func(grid.Table) string { return err.Error() }
	}
	missing := map[grid.Table]string{}
	for _, a := range p.Actions {
		if a.Kind != Drop {
			continue
		}
		if reason := why(a.Table); reason != "" {
			missing[a.Table] = reason
		}
	}
	p.skipActions(missing)
	return err
}

// checkArchive fails with an ArchiveError unless a table may be dropped.
func (r *Rotator) checkArchive(ctx context.Context, a *Action) error {
	if !r.opts.Policy.ArchiveFirst {
		return nil
	}
	if r.opts.CheckArchive == nil {
		return &ArchiveError{errNoArchive}
	}
	err := r.opts.CheckArchive(ctx, &store.Info{Table: a.Table, Owned: true, Status: store.Active, Retired: a.Retired, Readings: a.Readings, Bytes: a.Bytes})
	if err != nil {
		return &ArchiveError{err}
	}
	return nil
}
