package engine

import (
	"context"
	"maps"
	"slices"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
)

// tellUnclaimed reports the tables of this deployment that belong to no class.
func tellUnclaimed(ctx context.Context, o Options) error {
	if o.Events.Unclaimed == nil {
		return nil
	}
	infos, err := o.Store.Tables(ctx, store.Filter{Any: true, Window: varve.AllTime(), Fresh: true})
	if err != nil {
		return err
	}
	tables := map[string]int{}
	for i := range infos {
		if _, claimed := o.Rotation.Retention.ClassOfPrefix(infos[i].Prefix); !claimed {
			tables[infos[i].Prefix]++
		}
	}
	for _, prefix := range slices.Sorted(maps.Keys(tables)) {
		readings, err := readingsOf(ctx, o.Store, prefix)
		if err != nil {
			return err
		}
		o.Events.Unclaimed(prefix, tables[prefix], readings)
	}
	return nil
}

// readingsOf counts the readings in owned tables of a prefix.
func readingsOf(ctx context.Context, c store.Catalog, prefix string) (readings int64, err error) {
	infos, err := c.Tables(ctx, store.Filter{Prefixes: []string{prefix}, Window: varve.AllTime(), Details: true, Fresh: true})
	for i := range infos {
		if infos[i].Owned {
			readings += infos[i].Readings
		}
	}
	return readings, err
}
