package local

import (
	"context"
	"fmt"
	"hash/maphash"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/go-faster/jx"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
)

// itemLocks makes conditions and writes of items one step.
type itemLocks struct {
	locks [itemSlots]itemLock
}

const itemSlots = 64

// itemLock guards the items whose keys fall into one slot.
type itemLock struct {
	sync.Mutex
	open *change // the last change, if its outcome is open
}

// heldItems are the slots that a writer has locked.
type heldItems [itemSlots]bool

var itemSeed = maphash.MakeSeed()

func itemSlot(k store.Key) int { return int(maphash.Comparable(itemSeed, k) % itemSlots) }

// lock locks the items with the keys, in one order for everybody.
func (l *itemLocks) lock(keys []store.Key) (held heldItems) {
	for _, k := range keys {
		held[itemSlot(k)] = true
	}
	for i := range held {
		if held[i] {
			l.locks[i].Lock()
		}
	}
	return held
}

func (l *itemLocks) unlock(held heldItems) {
	for i := range held {
		if held[i] {
			l.locks[i].Unlock()
		}
	}
}

func itemKey(k store.Key) []byte {
	return appendKey(keyOf(spaceItem, k), k)
}

// indexKey is the key of an item's entry in a secondary index.
func indexKey(ix store.Index, in, k store.Key) []byte {
	return appendKey(appendKey(keyOf(indexSpace(ix), in, k), in), k)
}

// keyOf returns the first byte of a key, with room for the keys of items.
func keyOf(space byte, keys ...store.Key) []byte {
	size := 1
	for _, k := range keys {
		size += len(k.PK) + len(k.SK) + 4
	}
	return append(make([]byte, 0, size), space)
}

func appendKey(dst []byte, k store.Key) []byte { return appendPart(appendPart(dst, k.PK), k.SK) }

func indexSpace(ix store.Index) byte {
	if ix == store.GSI1 {
		return spaceGSI1
	}
	return spaceGSI2
}

// encodeItem encodes the value that Pebble holds of an item, as JSON: gsi1, gsi2, expires in
// unix seconds, and attrs, each a value's text under the first letter of its kind.
// Alerts and roll-ups write many items at once, so it does without reflection.
func encodeItem(e *jx.Encoder, it *store.Item) error {
	e.ObjStart()
	for _, ix := range []struct {
		name string
		in   store.Key
	}{{"gsi1", it.GSI1}, {"gsi2", it.GSI2}} {
		if !ix.in.IsZero() {
			e.FieldStart(ix.name)
			encodeKey(e, ix.in)
		}
	}
	if !it.Expires.IsZero() {
		e.FieldStart("expires")
		e.Int64(it.Expires.Unix())
	}
	if len(it.Attrs) > 0 {
		e.FieldStart("attrs")
		e.ObjStart()
		for name, v := range it.Attrs {
			e.FieldStart(name)
			if !encodeAttr(e, v) {
				return fmt.Errorf("item %s %s: attribute %s has no value", it.PK, it.SK, name)
			}
		}
		e.ObjEnd()
	}
	e.ObjEnd()
	return nil
}

func encodeKey(e *jx.Encoder, k store.Key) {
	e.ObjStart()
	e.FieldStart("PK")
	e.Str(k.PK)
	e.FieldStart("SK")
	e.Str(k.SK)
	e.ObjEnd()
}

// encodeAttr writes a value, and reports whether there is one.
func encodeAttr(e *jx.Encoder, v varve.Value) bool {
	var letter string
	switch v.Kind() {
	case varve.KindNumber:
		letter = "n"
	case varve.KindString:
		letter = "s"
	case varve.KindJSON:
		letter = "j"
	case varve.KindBool:
		letter = "b"
	default:
		return false
	}
	e.ObjStart()
	e.FieldStart(letter)
	if letter == "b" {
		e.Bool(v.Bool())
	} else {
		e.Str(v.String())
	}
	e.ObjEnd()
	return true
}

// decodeItem reads what encodeItem wrote. Roll-ups read many items at once, so it
// does without reflection.
func decodeItem(k store.Key, data []byte) (*store.Item, error) {
	it := &store.Item{Key: k, Attrs: map[string]varve.Value{}}
	err := jx.DecodeBytes(data).ObjBytes(func(d *jx.Decoder, member []byte) (err error) {
		switch string(member) {
		case "gsi1":
			it.GSI1, err = decodeKey(d)
		case "gsi2":
			it.GSI2, err = decodeKey(d)
		case "expires":
			var sec int64
			sec, err = d.Int64()
			it.Expires = time.Unix(sec, 0).UTC()
		case "attrs":
			err = d.ObjBytes(func(d *jx.Decoder, name []byte) error {
				attr := string(name) // d reuses its memory
				v, err := decodeAttr(d)
				if it.Attrs[attr] = v; err != nil {
					return fmt.Errorf("attribute %s: %w", attr, err)
				}
				return nil
			})
		default:
			err = fmt.Errorf("unknown member %s", member)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("item %s %s: %w", k.PK, k.SK, err)
	}
	return it, nil
}

func decodeKey(d *jx.Decoder) (k store.Key, err error) {
	err = d.ObjBytes(func(d *jx.Decoder, member []byte) (err error) {
		at := &k.PK
		if string(member) == "SK" {
			at = &k.SK
		}
		*at, err = d.Str()
		return err
	})
	return k, err
}

// decodeAttr reads a value by the letter of its kind.
func decodeAttr(d *jx.Decoder) (v varve.Value, err error) {
	err = d.ObjBytes(func(d *jx.Decoder, kind []byte) error {
		if string(kind) == "b" {
			b, err := d.Bool()
			v = varve.BoolValue(b)
			return err
		}
		letter := string(kind)
		text, err := d.Str()
		if err != nil {
			return err
		}
		switch letter {
		case "n":
			n, err := varve.ParseNumber(text)
			v = varve.NumberValue(n)
			return err
		case "s":
			v = varve.StringValue(text)
		case "j":
			v = varve.CanonicalJSON(text)
		default:
			return fmt.Errorf("unknown kind %s", letter)
		}
		return nil
	})
	return v, err
}

// load returns an item as it is stored; nil if there is none.
func (s *Store) load(k store.Key) (*store.Item, error) {
	key := itemKey(k)
	data, err := get(s.db, key)
	if err == nil {
		err = s.ledger.findKey(key).err()
	}
	if err != nil || data == nil {
		return nil, damagedItem(err)
	}
	return decodeItem(k, data)
}

// live returns the item, or nil if its time has come.
func (s *Store) live(it *store.Item) *store.Item {
	if it == nil || !it.Expires.IsZero() && !s.opts.Now().Before(it.Expires) {
		return nil
	}
	return it
}

// Get implements store.Items.
func (s *Store) Get(ctx context.Context, keys []store.Key, _ bool) ([]store.Item, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.leave()
	var items []store.Item
	for _, k := range keys {
		it, err := s.load(k)
		if err != nil {
			return nil, err
		}
		if it = s.live(it); it != nil {
			items = append(items, *it)
		}
	}
	return items, nil
}

// Put implements store.Items.
func (s *Store) Put(ctx context.Context, it store.Item, conds ...store.Cond) error {
	return s.putItem(ctx, s.space.checkSpare, it, conds)
}

func (s *Store) putItem(ctx context.Context, room func() error, it store.Item, conds []store.Cond) error {
	return s.writeItems(ctx, room, []store.Key{it.Key}, func(int) []store.Cond { return conds }, func(b *pebble.Batch) error { return putItem(b, &it) })
}

// putItem adds an item, and its places in the indexes, to a batch.
func putItem(b *pebble.Batch, it *store.Item) error {
	e := jx.GetEncoder()
	defer jx.PutEncoder(e)
	if err := encodeItem(e, it); err != nil {
		return err
	}
	for _, ix := range []store.Index{store.GSI1, store.GSI2} {
		if in := it.In(ix); !in.IsZero() {
			if err := b.Set(indexKey(ix, in, it.Key), nil, nil); err != nil {
				return err
			}
		}
	}
	return b.Set(itemKey(it.Key), e.Bytes(), nil)
}

// Delete implements store.Items.
func (s *Store) Delete(ctx context.Context, k store.Key, conds ...store.Cond) error {
	return s.writeItems(ctx, s.space.checkReserve, []store.Key{k}, func(int) []store.Cond { return conds }, func(b *pebble.Batch) error { return b.Delete(itemKey(k), nil) })
}

// leaveIndexes takes an item, which may be nil, out of the indexes.
func leaveIndexes(b *pebble.Batch, it *store.Item) error {
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
