package local

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/maphash"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/go-faster/jx"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
)

// itemLocks makes conditions and writes of one item one step.
type itemLocks struct {
	locks [64]sync.Mutex
}

var itemSeed = maphash.MakeSeed()

func (l *itemLocks) of(k store.Key) *sync.Mutex { return &l.locks[l.slot(k)] }

func (l *itemLocks) slot(k store.Key) int {
	return int(maphash.Comparable(itemSeed, k) % uint64(len(l.locks)))
}

func itemKey(k store.Key) []byte {
	return appendPart(appendPart([]byte{spaceItem}, k.PK), k.SK)
}

// indexKey is the key of an item's entry in a secondary index.
func indexKey(ix store.Index, in, k store.Key) []byte {
	key := appendPart(appendPart([]byte{indexSpace(ix)}, in.PK), in.SK)
	return appendPart(appendPart(key, k.PK), k.SK)
}

func indexSpace(ix store.Index) byte {
	if ix == store.GSI1 {
		return spaceGSI1
	}
	return spaceGSI2
}

// itemRecord is what Pebble holds of an item, as JSON.
type itemRecord struct {
	GSI1    *store.Key      `json:"gsi1,omitempty"`
	GSI2    *store.Key      `json:"gsi2,omitempty"`
	Expires int64           `json:"expires,omitempty"` // unix seconds
	Attrs   map[string]attr `json:"attrs,omitempty"`
}

// attr is a value: its text under the first letter of its kind.
type attr struct {
	N *string `json:"n,omitempty"`
	S *string `json:"s,omitempty"`
	B *bool   `json:"b,omitempty"`
	J *string `json:"j,omitempty"`
}

func encodeItem(it *store.Item) ([]byte, error) {
	rec := itemRecord{Attrs: map[string]attr{}}
	if !it.GSI1.IsZero() {
		rec.GSI1 = &it.GSI1
	}
	if !it.GSI2.IsZero() {
		rec.GSI2 = &it.GSI2
	}
	if !it.Expires.IsZero() {
		rec.Expires = it.Expires.Unix()
	}
	for name, v := range it.Attrs {
		text := v.String()
		switch v.Kind() {
		case varve.KindNumber:
			rec.Attrs[name] = attr{N: &text}
		case varve.KindString:
			rec.Attrs[name] = attr{S: &text}
		case varve.KindJSON:
			rec.Attrs[name] = attr{J: &text}
		case varve.KindBool:
			b := v.Bool()
			rec.Attrs[name] = attr{B: &b}
		default:
			return nil, fmt.Errorf("item %s %s: attribute %s has no value", it.PK, it.SK, name)
		}
	}
	return json.Marshal(rec)
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
	data, err := get(s.db, itemKey(k))
	if err != nil || data == nil {
		return nil, err
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
	return s.writeItem(ctx, it.Key, conds, func(b *pebble.Batch) error { return putItem(b, &it) })
}

// putItem adds an item, and its places in the indexes, to a batch.
func putItem(b *pebble.Batch, it *store.Item) error {
	data, err := encodeItem(it)
	if err != nil {
		return err
	}
	for _, ix := range []store.Index{store.GSI1, store.GSI2} {
		if in := it.In(ix); !in.IsZero() {
			if err := b.Set(indexKey(ix, in, it.Key), nil, nil); err != nil {
				return err
			}
		}
	}
	return b.Set(itemKey(it.Key), data, nil)
}

// Delete implements store.Items.
func (s *Store) Delete(ctx context.Context, k store.Key, conds ...store.Cond) error {
	return s.writeItem(ctx, k, conds, func(b *pebble.Batch) error { return b.Delete(itemKey(k), nil) })
}

// writeItem checks the conditions, takes the old item out of the indexes, and
// lets do add the rest.
func (s *Store) writeItem(ctx context.Context, k store.Key, conds []store.Cond, do func(*pebble.Batch) error) (err error) {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.leave()
	if err := s.space.checkSpare(); err != nil {
		return err
	}
	lock := s.items.of(k)
	lock.Lock()
	defer lock.Unlock()
	old, err := s.load(k)
	if err != nil {
		return err
	}
	for _, c := range conds {
		if !c.Holds(s.live(old)) {
			return fmt.Errorf("item %s %s: %w", k.PK, k.SK, store.ErrCondition)
		}
	}
	batch := s.db.NewBatch()
	defer func() { err = closing(err, batch) }()
	if err := leaveIndexes(batch, old); err != nil {
		return err
	}
	if err := do(batch); err != nil {
		return err
	}
	return batch.Commit(pebble.Sync)
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
