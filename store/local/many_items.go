package local

import (
	"context"

	"github.com/cockroachdb/pebble/v2"

	"github.com/varvedb/varve/store"
)

// PutAll implements store.Items: one batch, one sync.
func (s *Store) PutAll(ctx context.Context, items []store.Item) error {
	last := make(map[store.Key]int, len(items))
	for i := range items {
		last[items[i].Key] = i
	}
	return s.writeItems(ctx, keysOf(items), func(b *pebble.Batch) error {
		for i := range items {
			if last[items[i].Key] != i {
				continue
			}
			if err := putItem(b, &items[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

func keysOf(items []store.Item) []store.Key {
	keys := make([]store.Key, len(items))
	for i := range items {
		keys[i] = items[i].Key
	}
	return keys
}

// DeleteAll implements store.Items.
func (s *Store) DeleteAll(ctx context.Context, keys []store.Key) error {
	return s.writeItems(ctx, keys, func(b *pebble.Batch) error {
		for _, k := range keys {
			if err := b.Delete(itemKey(k), nil); err != nil {
				return err
			}
		}
		return nil
	})
}

// writeItems takes the items that have the keys out of the indexes, and lets do
// add the rest.
func (s *Store) writeItems(ctx context.Context, keys []store.Key, do func(*pebble.Batch) error) (err error) {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.leave()
	if err := s.space.checkSpare(); err != nil {
		return err
	}
	unlock := s.items.ofAll(keys)
	defer unlock()
	batch := s.db.NewBatch()
	defer func() { err = closing(err, batch) }()
	for _, k := range keys {
		old, err := s.load(k)
		if err != nil {
			return err
		}
		if err := leaveIndexes(batch, old); err != nil {
			return err
		}
	}
	if err := do(batch); err != nil {
		return err
	}
	return batch.Commit(pebble.Sync)
}

// ofAll locks the items with the keys, in one order for everybody, and returns
// what unlocks them.
func (l *itemLocks) ofAll(keys []store.Key) (unlock func()) {
	var held [len(l.locks)]bool
	for _, k := range keys {
		held[l.slot(k)] = true
	}
	for i := range held {
		if held[i] {
			l.locks[i].Lock()
		}
	}
	return func() {
		for i := range held {
			if held[i] {
				l.locks[i].Unlock()
			}
		}
	}
}
