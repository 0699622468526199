package dynamo

import (
	"context"

	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/dynamo/tables"
)

// itemCalls implements store.Items and store.Versioned.
type itemCalls struct{ *core }

// Get implements store.Items.
func (s itemCalls) Get(ctx context.Context, keys []store.Key, consistent bool) ([]store.Item, error) {
	if err := s.calls.enter(ctx); err != nil {
		return nil, err
	}
	defer s.calls.leave()
	return s.items.Get(ctx, keys, consistent)
}

// Query implements store.Items.
func (s itemCalls) Query(ctx context.Context, q store.ItemQuery) (store.ItemPage, error) {
	if err := s.calls.enter(ctx); err != nil {
		return store.ItemPage{}, err
	}
	defer s.calls.leave()
	return s.items.Query(ctx, q)
}

// Put implements store.Items.
func (s itemCalls) Put(ctx context.Context, it store.Item, conds ...store.Cond) error {
	return s.calls.do(ctx, func() error { return s.items.Put(ctx, it, conds...) })
}

// PutAll implements store.Items.
func (s itemCalls) PutAll(ctx context.Context, list []store.Item) error {
	return s.calls.do(ctx, func() error { return s.items.PutAll(ctx, list) })
}

// PutAbsent implements store.Items.
func (s itemCalls) PutAbsent(ctx context.Context, list []store.Item) ([]bool, error) {
	if err := s.calls.enter(ctx); err != nil {
		return nil, err
	}
	defer s.calls.leave()
	return s.items.PutAbsent(ctx, list)
}

// Delete implements store.Items.
func (s itemCalls) Delete(ctx context.Context, k store.Key, conds ...store.Cond) error {
	return s.calls.do(ctx, func() error { return s.items.Delete(ctx, k, conds...) })
}

// DeleteAll implements store.Items.
func (s itemCalls) DeleteAll(ctx context.Context, keys []store.Key) error {
	return s.calls.do(ctx, func() error { return s.items.DeleteAll(ctx, keys) })
}

// VersionKey implements store.Versioned.
func (s itemCalls) VersionKey() store.Key { return tables.VersionKey() }
