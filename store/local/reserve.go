package local

import (
	"context"

	"github.com/varvedb/varve/store"
)

// reserve is the registry for writes that free space. It admits them as long as the reserve of the
// disk lasts.
type reserve struct{ *Store }

var _ store.Reserver = (*Store)(nil)

// Reserve implements store.Reserver.
func (s *Store) Reserve() store.Items { return reserve{s} }

// Put implements store.Items.
func (r reserve) Put(ctx context.Context, it store.Item, conds ...store.Cond) error {
	return r.itemStore.put(ctx, r.db.guard.CheckReserve, it, conds)
}

// PutAll implements store.Items.
func (r reserve) PutAll(ctx context.Context, items []store.Item) error {
	return r.itemStore.putAll(ctx, r.db.guard.CheckReserve, items)
}
