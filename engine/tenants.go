package engine

import (
	"context"
	"maps"
	"slices"

	"github.com/varvedb/varve"
)

// tenants returns the default tenant and the tenants of all API keys. Other tenants have no rules,
// because rules are written with a key.
func (e *Engine) tenants(ctx context.Context) ([]string, error) {
	keys, err := e.Keys.List(ctx, "")
	if err != nil {
		return nil, err
	}
	all := map[string]bool{varve.DefaultTenant: true}
	for i := range keys {
		all[keys[i].Tenant] = true
	}
	return slices.Sorted(maps.Keys(all)), nil
}
