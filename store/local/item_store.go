package local

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/cockroachdb/pebble/v2"

	"github.com/varvedb/varve/store"
)

// itemStore writes items. It checks their conditions and commits their changes in one atomic
// operation.
type itemStore struct {
	db      *database
	changes *changeLog
	stored  *itemReader
	locks   itemLocks
}

func (s *itemStore) PutAll(ctx context.Context, items []store.Item) error {
	return s.putAll(ctx, s.db.guard.CheckItems, items)
}

func (s *itemStore) putAll(ctx context.Context, room func() error, items []store.Item) error {
	last := make(map[store.Key]int, len(items))
	for i := range items {
		last[items[i].Key] = i
	}
	return s.replace(ctx, room, keysOf(items), nil, func(b *pebble.Batch, sorted []keyAt) error {
		sorted = slices.DeleteFunc(sorted, func(k keyAt) bool { return last[items[k.i].Key] != k.i })
		return putItems(b, sorted, func(i int) *store.Item { return &items[i] })
	})
}

// putItems adds items to a batch: first the entries of each index, and then the items in the order
// of their keys. Pebble inserts ascending keys faster.
func putItems(b *pebble.Batch, sorted []keyAt, item func(i int) *store.Item) error {
	for _, ix := range []store.Index{store.GSI1, store.GSI2} {
		for _, k := range sorted {
			if err := putEntry(b, ix, item(k.i)); err != nil {
				return err
			}
		}
	}
	for _, k := range sorted {
		if err := putValue(b, k.key, item(k.i)); err != nil {
			return err
		}
	}
	return nil
}

// PutAbsent implements store.Items with one batch and one sync. If all items exist, it writes
// nothing.
func (s *itemStore) PutAbsent(ctx context.Context, items []store.Item) (written []bool, err error) {
	if err := s.db.life.enter(ctx); err != nil {
		return nil, err
	}
	defer s.db.life.leave()
	held := s.locks.lock(keysOf(items))
	defer s.locks.unlock(held)
	if err := s.resolve(ctx, held); err != nil {
		return nil, err
	}
	batch := s.newBatch(len(items))
	if written, err = s.addAbsent(batch, items); err != nil {
		return nil, closing(err, batch)
	}
	if !batch.Empty() {
		if err := s.db.guard.CheckItems(); err != nil {
			return nil, closing(err, batch)
		}
	}
	return written, s.commit(ctx, held, keysOf(items), batch)
}

// addAbsent adds the absent items to a batch. The caller has locked their keys.
func (s *itemStore) addAbsent(batch *pebble.Batch, items []store.Item) (added []bool, err error) {
	added = make([]bool, len(items))
	inBatch := map[store.Key]bool{}
	err = s.stored.loadEach(keysOf(items), func(i int, old *store.Item) error {
		it := &items[i]
		if inBatch[it.Key] || s.stored.live(old) != nil {
			return nil
		}
		if err := deleteEntries(batch, old); err != nil {
			return err
		}
		added[i], inBatch[it.Key] = true, true
		return putItem(batch, it)
	})
	return added, err
}

func keysOf(items []store.Item) []store.Key {
	keys := make([]store.Key, len(items))
	for i := range items {
		keys[i] = items[i].Key
	}
	return keys
}

// DeleteAll implements store.Items.
func (s *itemStore) DeleteAll(ctx context.Context, keys []store.Key) error {
	return s.replace(ctx, s.db.guard.CheckReserve, keys, nil, func(b *pebble.Batch, sorted []keyAt) error {
		for _, k := range sorted {
			if err := b.Delete(k.key, nil); err != nil {
				return err
			}
		}
		return nil
	})
}

// Apply implements store.AtomicItems with one batch and one sync.
func (s *itemStore) Apply(ctx context.Context, changes []store.Change) error {
	keys := make([]store.Key, len(changes))
	for i := range changes {
		keys[i] = changes[i].Item.Key
	}
	conds := func(i int) []store.Cond { return changes[i].Conds }
	return s.replace(ctx, s.db.guard.CheckItems, keys, conds, func(b *pebble.Batch, sorted []keyAt) error {
		for _, k := range sorted {
			if changes[k.i].Delete {
				if err := b.Delete(k.key, nil); err != nil {
					return err
				}
			}
		}
		sorted = slices.DeleteFunc(sorted, func(k keyAt) bool { return changes[k.i].Delete })
		return putItems(b, sorted, func(i int) *store.Item { return &changes[i].Item })
	})
}

// replace replaces the items of some keys, if the disk has room and all conditions are true.
//
// It removes the index entries of the old items. The function "do" receives the keys in ascending order. It
// writes or deletes the items, and adds the new index entries. If conds is nil, no conditions apply.
func (s *itemStore) replace(ctx context.Context, room func() error, keys []store.Key, conds func(i int) []store.Cond, do func(b *pebble.Batch, sorted []keyAt) error) error {
	if err := s.db.life.enter(ctx); err != nil {
		return err
	}
	defer s.db.life.leave()
	if err := room(); err != nil {
		return err
	}
	held := s.locks.lock(keys)
	defer s.locks.unlock(held)
	if err := s.resolve(ctx, held); err != nil {
		return err
	}
	batch := s.newBatch(len(keys))
	if err := s.addChange(batch, keys, conds, do); err != nil {
		return closing(err, batch)
	}
	return s.commit(ctx, held, keys, batch)
}

// resolve waits for the outcome of earlier changes of the items.
func (s *itemStore) resolve(ctx context.Context, held heldItems) error {
	for i := range held {
		if !held[i] {
			continue
		}
		if err := s.changes.resolve(ctx, s.locks.stripes[i].open); err != nil {
			return err
		}
		s.locks.stripes[i].open = nil
	}
	return nil
}

func (s *itemStore) addChange(batch *pebble.Batch, keys []store.Key, conds func(i int) []store.Cond, do func(b *pebble.Batch, sorted []keyAt) error) error {
	sorted := sortedKeys(keys)
	err := s.stored.loadEachSorted(keys, sorted, func(i int, old *store.Item) error {
		if conds != nil {
			if err := s.checkConds(old, keys[i], conds(i)); err != nil {
				return err
			}
		}
		return deleteEntries(batch, old)
	})
	if err != nil {
		return err
	}
	return do(batch, sorted)
}

// checkConds returns an ErrCondition unless all conditions are true for an item, which may be nil.
func (s *itemStore) checkConds(it *store.Item, k store.Key, conds []store.Cond) error {
	for _, c := range conds {
		if !c.IsTrue(s.stored.live(it)) {
			return fmt.Errorf("item %s %s: %w", k.PK, k.SK, store.ErrCondition)
		}
	}
	return nil
}

// commit commits a change of locked items. If the outcome stays open, it records the change in their stripes.
func (s *itemStore) commit(ctx context.Context, held heldItems, keys []store.Key, batch *pebble.Batch) error {
	open, err := s.changes.commit(ctx, batch, keys, nil)
	if open != nil {
		for i := range held {
			if held[i] {
				s.locks.stripes[i].open = open
			}
		}
	}
	return err
}

func (s *itemStore) newBatch(items int) *pebble.Batch {
	return s.db.NewBatchWithSize(items * itemBytes)
}

// Put implements store.Items.
func (s *itemStore) Put(ctx context.Context, it store.Item, conds ...store.Cond) error {
	return s.put(ctx, s.db.guard.CheckItems, it, conds)
}

func (s *itemStore) put(ctx context.Context, room func() error, it store.Item, conds []store.Cond) error {
	return s.replace(ctx, room, []store.Key{it.Key}, func(int) []store.Cond { return conds }, func(b *pebble.Batch, _ []keyAt) error { return putItem(b, &it) })
}

func putItem(b *pebble.Batch, it *store.Item) error {
	if err := errors.Join(putEntry(b, store.GSI1, it), putEntry(b, store.GSI2, it)); err != nil {
		return err
	}
	return putValue(b, itemKey(it.Key), it)
}

// putEntry adds the entry of an item in a secondary index to a batch. If the item has no key in
// this index, it adds nothing.
func putEntry(b *pebble.Batch, ix store.Index, it *store.Item) error {
	in := it.In(ix)
	if in.IsZero() {
		return nil
	}
	buf := itemBuffers.Get().(*[]byte)
	defer itemBuffers.Put(buf)
	*buf = appendIndexKey((*buf)[:0], ix, in, it.Key)
	return b.Set(*buf, nil, nil)
}

// itemBuffers has buffers for keys and values, which a batch copies.
var itemBuffers = sync.Pool{New: func() any { return new([]byte) }}

// putValue adds an item with an encoded key, without its index entries, to a batch.
func putValue(b *pebble.Batch, key []byte, it *store.Item) error {
	buf := itemBuffers.Get().(*[]byte)
	defer itemBuffers.Put(buf)
	value, err := appendItem((*buf)[:0], it)
	if err != nil {
		return err
	}
	*buf = value
	return b.Set(key, value, nil)
}

// Delete implements store.Items.
func (s *itemStore) Delete(ctx context.Context, k store.Key, conds ...store.Cond) error {
	return s.replace(ctx, s.db.guard.CheckReserve, []store.Key{k}, func(int) []store.Cond { return conds }, func(b *pebble.Batch, _ []keyAt) error { return b.Delete(itemKey(k), nil) })
}

// deleteEntries adds the deletion of an item's index entries to a batch. The item may be nil.
func deleteEntries(b *pebble.Batch, it *store.Item) error {
	if it == nil {
		return nil
	}
	for _, ix := range []store.Index{store.GSI1, store.GSI2} {
		if in := it.In(ix); !in.IsZero() {
			if err := b.Delete(indexKey(ix, in, it.Key), nil); err != nil {
				return err
			}
		}
	}
	return nil
}
