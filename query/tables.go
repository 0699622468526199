package query

import (
	"context"
	"fmt"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/retention"
	"github.com/varvedb/varve/store"
)

// TablesOf returns the existing tables that can contain live readings of a stream, by name. They include
// all tables with readings that were acknowledged before the call.
func (e *Engine) TablesOf(ctx context.Context, tenant, stream string) (tables []grid.Table, err error) {
	k, err := e.knownStream(ctx, tenant, stream, true)
	if err != nil {
		return nil, err
	}
	retentions := e.retentions(&k.stream, retention.Forever)
	f := store.Filter{Window: varve.AllTime(), SkipEmpty: true, Fresh: k.fresh, Version: k.version}
	for prefix := range retentions {
		f.Prefixes = append(f.Prefixes, prefix)
	}
	infos, err := e.opts.Catalog.Tables(ctx, f)
	if err != nil {
		return nil, fmt.Errorf("list tables: %w", err)
	}
	now := e.opts.Now()
	for i := range infos {
		in := &infos[i]
		if in.Owned && in.Status != store.Gone && !hasExpired(in.Table, retention.Cutoff(now, retentions[in.Prefix])) {
			tables = append(tables, in.Table)
		}
	}
	return tables, nil
}
