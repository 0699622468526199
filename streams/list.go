package streams

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/varvedb/varve/registry"
	"github.com/varvedb/varve/store"
)

// maxLists is the maximum number of tenants whose lists are cached.
const maxLists = 1000

// listCache caches lists of streams. Each list has the version of its items, and is used only while the
// store returns the same version.
type listCache struct {
	mu    sync.Mutex
	lists map[string]versionedList // by tenant
}

type versionedList struct {
	version store.Version
	streams []Stream
}

// List returns the streams of a tenant in the order of their names. The caller must not change the list.
//
// If the store implements [store.VersionedItems], List reads the items only if the list is not cached or an
// item may have changed.
func (r *Registry) List(ctx context.Context, tenant string) ([]Stream, error) {
	versioned, ok := r.items.(store.VersionedItems)
	if !ok {
		return r.readList(ctx, tenant)
	}
	pk := registry.TenantPK(tenant)
	version, stable := versioned.ItemVersion(pk, streamPrefix)
	if list, ok := r.lists.get(tenant, version); ok && stable {
		return list, context.Cause(ctx) // fails if ctx has ended, as reading the list would
	}
	list, err := r.readList(ctx, tenant)
	if err == nil && stable {
		list = slices.Clip(list) // so that append copies it
		r.lists.put(tenant, versionedList{version, list})
	}
	return list, err
}

func (r *Registry) readList(ctx context.Context, tenant string) (list []Stream, err error) {
	q := store.ItemQuery{PK: registry.TenantPK(tenant), From: streamPrefix, To: store.PrefixEnd(streamPrefix), Consistent: true}
	for it, err := range registry.All(ctx, r.items, q) {
		if err != nil {
			return nil, fmt.Errorf("list streams of tenant %s: %w", tenant, err)
		}
		st, err := decode(id{tenant, strings.TrimPrefix(it.SK, streamPrefix)}, it)
		if err != nil {
			return nil, err
		}
		list = append(list, st)
	}
	return list, nil
}

func (c *listCache) get(tenant string, v store.Version) (list []Stream, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	of, found := c.lists[tenant]
	return of.streams, found && of.version == v
}

// put adds a list, and removes a random one if the cache is full.
func (c *listCache) put(tenant string, list versionedList) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lists == nil {
		c.lists = map[string]versionedList{}
	}
	for other := range c.lists {
		if len(c.lists) < maxLists {
			break
		}
		delete(c.lists, other)
	}
	c.lists[tenant] = list
}
