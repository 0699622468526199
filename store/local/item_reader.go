package local

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/varvedb/varve/store"
)

// itemBytes is the approximate size of an item and its index entries in a batch.
const itemBytes = 768

// keyAt is the encoded key of an item, and the index of this item in a list.
type keyAt struct {
	key []byte
	i   int
}

type itemReader struct{ db *database }

// loadEach calls the function "yield" for each key, with the stored item, or with nil if the item is
// missing. The calls have the order of the encoded keys. Equal keys have the order of the argument
// "keys".
func (r *itemReader) loadEach(keys []store.Key, yield func(i int, it *store.Item) error) error {
	return r.loadEachSorted(keys, sortedKeys(keys), yield)
}

// sortedKeys encodes keys and sorts them. Equal keys have the order of the argument "keys". All encoded
// keys share one allocation.
func sortedKeys(keys []store.Key) []keyAt {
	size := 0
	for _, k := range keys {
		size += keySize(k)
	}
	buf, sorted := make([]byte, 0, size), make([]keyAt, len(keys))
	for i, k := range keys {
		from := len(buf)
		buf = appendKey(append(buf, spaceItem), k)
		sorted[i] = keyAt{buf[from:len(buf):len(buf)], i}
	}
	slices.SortFunc(sorted, func(a, b keyAt) int { return cmp.Or(bytes.Compare(a.key, b.key), cmp.Compare(a.i, b.i)) })
	return sorted
}

// loadEachSorted implements loadEach for keys that are encoded and sorted.
func (r *itemReader) loadEachSorted(keys []store.Key, sorted []keyAt, yield func(i int, it *store.Item) error) error {
	if len(keys) == 1 {
		it, err := r.load(keys[0])
		if err != nil {
			return err
		}
		return yield(0, it)
	}
	items, err := r.loadSorted(keys, sorted)
	if isDamage(err) {
		items, err = r.loadOneByOne(keys, sorted) // the damaged range may lie between the keys
	}
	if err != nil {
		return err
	}
	for at, k := range sorted {
		if err := yield(k.i, items[at]); err != nil {
			return err
		}
	}
	return nil
}

// loadSorted returns the items of sorted keys, with nil for missing ones. It uses one iterator,
// so that a run of missing items costs one seek.
func (r *itemReader) loadSorted(keys []store.Key, sorted []keyAt) (items []*store.Item, err error) {
	items = make([]*store.Item, len(sorted))
	if len(sorted) == 0 {
		return items, nil
	}
	last := sorted[len(sorted)-1].key
	iter, err := r.db.NewIter(&pebble.IterOptions{LowerBound: sorted[0].key, UpperBound: append(slices.Clone(last), 0)})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, iter.Close()) }()
	found := iter.First()
	for at, k := range sorted {
		if found && bytes.Compare(iter.Key(), k.key) < 0 {
			found = iter.SeekGE(k.key)
		}
		if err := iter.Error(); err != nil {
			return nil, err
		}
		if err := r.db.ledger.findKey(k.key).err(); err != nil {
			return nil, err
		}
		if !found || !bytes.Equal(iter.Key(), k.key) {
			continue
		}
		data, err := iter.ValueAndErr()
		if err != nil {
			return nil, err
		}
		if items[at], err = decodeItem(keys[k.i], data); err != nil {
			return nil, err
		}
	}
	return items, nil
}

// loadOneByOne loads like loadSorted, but without an iterator, which would also read damaged
// data between the keys.
func (r *itemReader) loadOneByOne(keys []store.Key, sorted []keyAt) (items []*store.Item, err error) {
	items = make([]*store.Item, len(sorted))
	for at, k := range sorted {
		if items[at], err = r.load(keys[k.i]); err != nil {
			return nil, err
		}
	}
	return items, nil
}

// load returns the stored item, or nil if it is missing.
func (r *itemReader) load(k store.Key) (*store.Item, error) {
	key := itemKey(k)
	data, err := get(r.db.DB, key)
	if err == nil {
		err = r.db.ledger.findKey(key).err()
	}
	if err != nil || data == nil {
		return nil, damagedItem(err)
	}
	return decodeItem(k, data)
}

// live returns the item, or nil if it has expired.
func (r *itemReader) live(it *store.Item) *store.Item {
	if it == nil || !it.Expires.IsZero() && !r.db.opts.Now().Before(it.Expires) {
		return nil
	}
	return it
}

// Get implements store.Items.
func (r *itemReader) Get(ctx context.Context, keys []store.Key) ([]store.Item, error) {
	if err := r.db.life.enter(ctx); err != nil {
		return nil, err
	}
	defer r.db.life.leave()
	var items []store.Item
	for _, k := range keys {
		it, err := r.load(k)
		if err != nil {
			return nil, err
		}
		if it = r.live(it); it != nil {
			items = append(items, *it)
		}
	}
	return items, nil
}
