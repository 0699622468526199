package local

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
)

// Query implements store.Items.
func (r *itemReader) Query(ctx context.Context, q store.ItemQuery) (page store.ItemPage, err error) {
	if err := r.db.life.enter(ctx); err != nil {
		return page, err
	}
	defer r.db.life.leave()
	defer func() { err = damagedItem(err) }()
	page.Cost.Requests = 1
	bounds := itemBounds(&q)
	iter, err := r.db.NewIter(bounds)
	if err != nil {
		return page, err
	}
	defer func() { err = closing(err, iter) }()
	itemAt := func() (*store.Item, error) { return r.itemAt(iter) }
	if q.Index != store.Primary {
		items, err := cloneForItems(iter)
		if err != nil {
			return page, err
		}
		defer func() { err = closing(err, items) }()
		itemAt = func() (*store.Item, error) { return r.indexedItem(iter, items) }
	}
	first, next := iter.First, iter.Next
	if q.Order == varve.Descending {
		first, next = iter.Last, iter.Prev
	}
	for ok := first(); ok; ok = next() {
		it, err := itemAt()
		if err != nil {
			return page, err
		}
		if it = r.live(it); it == nil {
			continue
		}
		if q.Limit > 0 && len(page.Items) == q.Limit {
			page.More = true
			// Later entries belong to the next page, so the check for losses below excludes them.
			if q.Order == varve.Descending {
				bounds.LowerBound = slices.Clone(iter.Key())
			} else {
				bounds.UpperBound = slices.Clone(iter.Key())
			}
			break
		}
		page.Items = append(page.Items, *it)
	}
	if err := iter.Error(); err != nil {
		return store.ItemPage{}, err
	}
	if err := r.db.ledger.find(bounds.LowerBound, bounds.UpperBound).err(); err != nil {
		return store.ItemPage{}, err
	}
	return page, nil
}

func itemBounds(q *store.ItemQuery) *pebble.IterOptions {
	space := byte(spaceItem)
	if q.Index != store.Primary {
		space = indexSpace(q.Index)
	}
	part := appendPart([]byte{space}, q.PK)
	bounds := &pebble.IterOptions{LowerBound: part, UpperBound: after(part)}
	if q.From != "" {
		bounds.LowerBound = withoutEnd(appendPart(part[:len(part):len(part)], q.From))
	}
	if q.To != "" {
		bounds.UpperBound = withoutEnd(appendPart(part[:len(part):len(part)], q.To))
	}
	if q.After == nil {
		return bounds
	}
	key := itemKey(q.After.Key)
	if q.Index != store.Primary {
		key = indexKey(q.Index, q.After.In(q.Index), q.After.Key)
	}
	if q.Order == varve.Descending {
		bounds.UpperBound = key
	} else {
		bounds.LowerBound = append(key, 0)
	}
	return bounds
}

// withoutEnd removes the end mark of the last part of a key. The result is a lower bound of all
// keys whose last part is equal to that part or greater.
func withoutEnd(key []byte) []byte { return key[:len(key)-2] }

// cloneForItems returns an iterator over items at the same moment as an iterator over an index, so that the
// entries of the index match the items.
//
// A snapshot of Pebble would do so, too. But deleted data that a snapshot preserves may remain in the
// files for good, even after an erasure. An iterator only delays the deletion of whole files.
func cloneForItems(index *pebble.Iterator) (*pebble.Iterator, error) {
	bounds := &pebble.IterOptions{LowerBound: []byte{spaceItem}, UpperBound: []byte{spaceItem + 1}}
	return index.Clone(pebble.CloneOptions{IterOptions: bounds})
}

// itemAt returns the item at the current entry of an iterator over items.
func (r *itemReader) itemAt(items *pebble.Iterator) (*store.Item, error) {
	k, ok := cutKey(items.Key()[1:])
	if !ok {
		return nil, errItemKey(items.Key())
	}
	data, err := items.ValueAndErr()
	if err != nil {
		return nil, err
	}
	return decodeItem(k, data)
}

// indexedItem returns the item of the current entry of a secondary index. The iterator "items" is from
// cloneForItems.
func (r *itemReader) indexedItem(index, items *pebble.Iterator) (*store.Item, error) {
	k, ok := entryOf(index.Key())
	if !ok {
		return nil, errItemKey(index.Key())
	}
	key := itemKey(k)
	found := items.SeekPrefixGE(key) // keys have no suffix, so this finds only the key itself
	err := items.Error()
	if err == nil {
		err = r.db.ledger.findKey(key).err()
	}
	if err == nil && !found {
		err = pebble.ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("item %s %s of an index: %w", k.PK, k.SK, err)
	}
	return r.itemAt(items)
}

func cutKey(parts []byte) (k store.Key, ok bool) {
	pk, rest, ok1 := cutPart(parts)
	sk, _, ok2 := cutPart(rest)
	return store.Key{PK: pk, SK: sk}, ok1 && ok2
}

func errItemKey(key []byte) error { return fmt.Errorf("key of an item is damaged: %x", key) }

// Partitions returns the partition keys that begin with a prefix and have items, in order.
func (r *itemReader) Partitions(ctx context.Context, prefix string) (list []string, err error) {
	if err := r.db.life.enter(ctx); err != nil {
		return nil, err
	}
	defer r.db.life.leave()
	begin := append([]byte{spaceItem}, prefix...)
	err = r.db.visitSome(ctx, begin, after(begin), func(key []byte) (next []byte) {
		k, ok := cutKey(key[1:])
		if !ok {
			return append(slices.Clone(key), 0)
		}
		list = append(list, k.PK)
		return after(appendPart([]byte{spaceItem}, k.PK))
	})
	return slices.DeleteFunc(list, func(pk string) bool { return !strings.HasPrefix(pk, prefix) }), err
}
