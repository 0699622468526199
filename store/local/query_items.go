package local

import (
	"context"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
)

// Query implements store.Items.
func (s *Store) Query(ctx context.Context, q store.ItemQuery) (page store.ItemPage, err error) {
	if err := s.enter(ctx); err != nil {
		return page, err
	}
	defer s.leave()
	page.Cost.Requests = 1
	// A snapshot, so that an index and its items belong together.
	snap := s.db.NewSnapshot()
	defer func() { err = closing(err, snap) }()
	iter, err := snap.NewIter(itemBounds(&q))
	if err != nil {
		return page, err
	}
	defer func() { err = closing(err, iter) }()
	first, next := iter.First, iter.Next
	if q.Order == varve.Descending {
		first, next = iter.Last, iter.Prev
	}
	for ok := first(); ok; ok = next() {
		it, err := itemAt(snap, iter, q.Index)
		if err != nil {
			return page, err
		}
		if it = s.live(it); it == nil {
			continue
		}
		if q.Limit > 0 && len(page.Items) == q.Limit {
			page.More = true
			break
		}
		page.Items = append(page.Items, *it)
	}
	return page, iter.Error()
}

// itemBounds returns the bounds of the keys that a query is about.
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

// withoutEnd cuts off the mark of a part's end: what is left is the first key
// whose part is not less.
func withoutEnd(key []byte) []byte { return key[:len(key)-2] }

// itemAt returns the item that an iterator over an index is at.
func itemAt(snap *pebble.Snapshot, iter *pebble.Iterator, ix store.Index) (*store.Item, error) {
	skip := 0
	if ix != store.Primary {
		skip = 2
	}
	rest := iter.Key()[1:]
	for range skip {
		var ok bool
		if _, rest, ok = cutPart(rest); !ok {
			return nil, errItemKey(iter.Key())
		}
	}
	k, ok := cutKey(rest)
	if !ok {
		return nil, errItemKey(iter.Key())
	}
	if ix == store.Primary {
		data, err := iter.ValueAndErr()
		if err != nil {
			return nil, err
		}
		return decodeItem(k, data)
	}
	data, closer, err := snap.Get(itemKey(k))
	if err != nil {
		return nil, fmt.Errorf("item %s %s, which an index names: %w", k.PK, k.SK, err)
	}
	it, err := decodeItem(k, data)
	return it, closing(err, closer)
}

// cutKey reads a key's two parts.
func cutKey(parts []byte) (k store.Key, ok bool) {
	pk, rest, ok1 := cutPart(parts)
	sk, _, ok2 := cutPart(rest)
	return store.Key{PK: pk, SK: sk}, ok1 && ok2
}

func errItemKey(key []byte) error { return fmt.Errorf("key of an item is damaged: %x", key) }
