package mem

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
)

// itemCalls implements store.Items.
type itemCalls struct{ *state }

// Get implements store.Items.
func (s itemCalls) Get(ctx context.Context, keys []store.Key, _ bool) ([]store.Item, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.check(ctx); err != nil {
		return nil, err
	}
	var items []store.Item
	for _, k := range keys {
		if it := s.item(k); it != nil {
			items = append(items, clone(it))
		}
	}
	return items, nil
}

// item returns the item of a key, or nil if it is missing or expired. The caller must have locked
// mu.
func (s itemCalls) item(k store.Key) *store.Item {
	it, ok := s.items[k]
	if !ok || !it.Expires.IsZero() && !s.now().Before(it.Expires) {
		return nil
	}
	return &it
}

func clone(it *store.Item) store.Item {
	c := *it
	c.Attrs = maps.Clone(it.Attrs)
	return c
}

// set stores an item. The caller must have locked mu.
func (s itemCalls) set(it *store.Item) {
	defer s.versions.End(s.versions.Begin([]store.Key{it.Key}))
	s.items[it.Key] = clone(it)
}

// remove deletes an item. The caller must have locked mu.
func (s itemCalls) remove(k store.Key) {
	defer s.versions.End(s.versions.Begin([]store.Key{k}))
	delete(s.items, k)
}

// ItemVersion implements store.VersionedItems.
func (s itemCalls) ItemVersion(pk, sk string) (store.Version, bool) {
	return s.versions.ItemVersion(pk, sk)
}

// Put implements store.Items.
func (s itemCalls) Put(ctx context.Context, it store.Item, conds ...store.Cond) error {
	return s.write(ctx, it.Key, conds, func() { s.set(&it) })
}

// Delete implements store.Items.
func (s itemCalls) Delete(ctx context.Context, k store.Key, conds ...store.Cond) error {
	return s.write(ctx, k, conds, func() { s.remove(k) })
}

// PutAll implements store.Items.
func (s itemCalls) PutAll(ctx context.Context, items []store.Item) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.check(ctx); err != nil {
		return err
	}
	for i := range items {
		s.set(&items[i])
	}
	return nil
}

// PutAbsent implements store.Items.
func (s itemCalls) PutAbsent(ctx context.Context, items []store.Item) ([]bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.check(ctx); err != nil {
		return nil, err
	}
	written := make([]bool, len(items))
	for i := range items {
		if s.item(items[i].Key) == nil {
			s.set(&items[i])
			written[i] = true
		}
	}
	return written, nil
}

// DeleteAll implements store.Items.
func (s itemCalls) DeleteAll(ctx context.Context, keys []store.Key) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.check(ctx); err != nil {
		return err
	}
	for _, k := range keys {
		s.remove(k)
	}
	return nil
}

func (s itemCalls) write(ctx context.Context, k store.Key, conds []store.Cond, do func()) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.check(ctx); err != nil {
		return err
	}
	it := s.item(k)
	for _, c := range conds {
		if !c.IsTrue(it) {
			return fmt.Errorf("item %s %s: %w", k.PK, k.SK, store.ErrCondition)
		}
	}
	do()
	return nil
}

// Query implements store.Items.
func (s itemCalls) Query(ctx context.Context, q store.ItemQuery) (store.ItemPage, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if err := s.check(ctx); err != nil {
		return store.ItemPage{}, err
	}
	compare := func(a, b *store.Item) int {
		c := cmp.Or(a.In(q.Index).Compare(b.In(q.Index)), a.Key.Compare(b.Key))
		if q.Order == varve.Descending {
			return -c
		}
		return c
	}
	var found []store.Item
	for k := range s.items {
		it := s.item(k)
		if it == nil || q.After != nil && compare(it, q.After) <= 0 {
			continue
		}
		if at := it.In(q.Index); at.PK == q.PK && at.SK >= q.From && (q.To == "" || at.SK < q.To) {
			found = append(found, clone(it))
		}
	}
	slices.SortFunc(found, func(a, b store.Item) int { return compare(&a, &b) })
	page := store.ItemPage{Items: found, Cost: store.Cost{Requests: 1}}
	if q.Limit > 0 && len(found) > q.Limit {
		page.Items, page.More = found[:q.Limit], true
	}
	return page, nil
}
