package rotator

import (
	"context"
	"fmt"
	"github.com/varvedb/varve/grid"
	"time"
)

// keepNeeded keeps the tables that a plan would drop and that are needed. If
// that cannot be told, none is dropped.
func (r *Rotator) keepNeeded(ctx context.Context, p *Plan) error {
	if r.opts.TablesInUse == nil || p.Counts()[Drop] == 0 {
		return nil
	}
	why, err := r.opts.TablesInUse(ctx)
	if err != nil {
		err = fmt.Errorf("which tables are needed: %w", err)
		why = func(grid.Table, time.Time) string { return err.Error() }
	}
	needed := map[grid.Table]string{}
	for _, a := range p.Actions {
		if a.Kind != Drop {
			continue
		}
		if reason := why(a.Table, a.Retired); reason != "" {
			needed[a.Table] = reason
		}
	}
	p.keep(needed)
	return err
}
