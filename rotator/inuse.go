package rotator

import (
	"context"
	"fmt"
	"github.com/varvedb/varve/grid"
	"time"
)

// skipTablesInUse removes from a plan the drops of tables that are in use. If it cannot find out
// which tables are in use, it removes all drops.
func (r *Rotator) skipTablesInUse(ctx context.Context, p *Plan) error {
	if r.opts.TablesInUse == nil || p.Counts()[Drop] == 0 {
		return nil
	}
	why, err := r.opts.TablesInUse(ctx)
	if err != nil {
		err = fmt.Errorf("find tables in use: %w", err)
		why = func(grid.Table, time.Time) string { return err.Error() }
	}
	inUse := map[grid.Table]string{}
	for _, a := range p.Actions {
		if a.Kind != Drop {
			continue
		}
		if reason := why(a.Table, a.Retired); reason != "" {
			inUse[a.Table] = reason
		}
	}
	p.skipActions(inUse)
	return err
}
