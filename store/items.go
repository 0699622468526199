package store

import (
	"context"
	"time"

	"github.com/varvedb/varve"
)

// Key is the key of an item: a partition and a place in its order.
type Key struct {
	PK, SK string
}

// Compare orders keys by partition, then sort key, byte by byte.
func (k Key) Compare(l Key) int {
	switch {
	case k.PK != l.PK && k.PK < l.PK, k.PK == l.PK && k.SK < l.SK:
		return -1
	case k == l:
		return 0
	default:
		return 1
	}
}

// IsZero reports whether the key is empty.
func (k Key) IsZero() bool { return k == Key{} }

// Item is one entry of the registry. On DynamoDB the registry is one table
// with the attributes pk, sk, gsi1pk, gsi1sk, gsi2pk, gsi2sk, ttl and one for
// each of Attrs.
type Item struct {
	Key
	GSI1, GSI2 Key       // places in the two secondary indexes; zero: in none
	Expires    time.Time // to the second; zero: never
	Attrs      map[string]varve.Value
}

// Index names an order of the items.
type Index uint8

// The indexes.
const (
	Primary Index = iota
	GSI1
	GSI2
)

// In returns the item's key in an index.
func (it *Item) In(ix Index) Key {
	switch ix {
	case GSI1:
		return it.GSI1
	case GSI2:
		return it.GSI2
	default:
		return it.Key
	}
}

// Cond is a condition on the item as it is stored before a write. All
// conditions of a write must hold.
type Cond struct {
	Attr  string      // the attribute compared; "" for IfAbsent, IfExists
	Op    CondOp      //
	Value varve.Value // what it is compared with
}

// CondOp is the kind of a condition.
type CondOp uint8

// The kinds of condition; see IfAbsent, IfExists, IfEquals and IfLess.
const (
	Absent CondOp = iota + 1
	Exists
	Equals
	Less
)

// IfAbsent holds if there is no such item.
func IfAbsent() Cond { return Cond{Op: Absent} }

// IfExists holds if there is such an item.
func IfExists() Cond { return Cond{Op: Exists} }

// IfEquals holds if the item has the attribute with that value.
func IfEquals(attr string, v varve.Value) Cond { return Cond{Attr: attr, Op: Equals, Value: v} }

// IfLess holds if the item has the attribute, a number or string less than v,
// which is of the same kind.
func IfLess(attr string, v varve.Value) Cond { return Cond{Attr: attr, Op: Less, Value: v} }

// Holds reports whether the condition holds for an item; nil is no item.
// Stores that evaluate conditions themselves use it.
func (c Cond) Holds(it *Item) bool {
	switch {
	case c.Op == Absent:
		return it == nil
	case c.Op == Exists:
		return it != nil
	case it == nil:
		return false
	}
	v, ok := it.Attrs[c.Attr]
	if !ok || v.Kind() != c.Value.Kind() {
		return false
	}
	if c.Op == Equals {
		return v.Equal(c.Value)
	}
	switch v.Kind() {
	case varve.KindNumber:
		return v.Number().Compare(c.Value.Number()) < 0
	case varve.KindString:
		return v.Text() < c.Value.Text()
	default:
		return false
	}
}

// ItemQuery asks for the items of one partition of an index.
type ItemQuery struct {
	Index Index
	PK    string
	// From and To bound the sort key in that index: From <= key < To. Empty:
	// unbounded.
	From, To string
	Order    varve.Order
	// After continues behind an item of an earlier page; nil: from the start.
	After *Item
	Limit int // at most so many; 0: as many as the store likes
	// Consistent: see every write acknowledged before. Secondary indexes may
	// lag behind all the same.
	Consistent bool
}

// ItemPage is a run of items.
type ItemPage struct {
	Items []Item
	More  bool // items may follow the last one
	Cost  Cost
}

// Items is the registry: small keyed items in order, with two secondary
// indexes. An item whose time has come is as good as absent, in reads and in
// conditions.
type Items interface {
	// Get returns the items with the given keys that exist, in any order.
	Get(ctx context.Context, keys []Key, consistent bool) ([]Item, error)
	// Put writes an item whole, durably. It fails with ErrCondition.
	Put(ctx context.Context, it Item, conds ...Cond) error
	// Delete removes an item, durably; it is no error if it is absent and no
	// condition says otherwise. It fails with ErrCondition.
	Delete(ctx context.Context, k Key, conds ...Cond) error
	// PutAll writes items whole, without conditions. When it returns nil, all of
	// them are durable; after an error, any of them may be. Of items with one
	// key, the last one stays. Many cost less than as many Puts.
	PutAll(ctx context.Context, items []Item) error
	// PutAbsent writes those of the items whose keys are absent, durably, and
	// returns for each whether it was written. An item that exists stays as it is,
	// whoever writes it, also at the same time. Of items with one key, only the
	// first can be written. After an error, any of them may be. Many cost less than
	// as many Puts.
	PutAbsent(ctx context.Context, items []Item) (written []bool, err error)
	// DeleteAll removes items in the same way; it is no error if some are absent.
	DeleteAll(ctx context.Context, keys []Key) error
	// Query returns the items of one partition in the order of their sort key
	// in the index. Ties, which only secondary indexes have, are in an order of
	// the store's own, the same on every page.
	Query(ctx context.Context, q ItemQuery) (ItemPage, error)
}

// Reserver is an extra power of stores that refuse writes while they can still
// clean up.
type Reserver interface {
	// Reserve returns the registry for what makes room: rotation, and the roll-ups
	// that tables wait for before they are dropped. Its writes are taken also while
	// others are refused.
	Reserve() Items
}

// PrefixEnd returns the smallest string greater than every string that begins
// with prefix, for use as ItemQuery.To: the prefix with its last byte that is
// not 0xff incremented. "" if there is none.
func PrefixEnd(prefix string) string {
	for i := len(prefix) - 1; i >= 0; i-- {
		if prefix[i] != 0xff {
			end := []byte(prefix[:i+1])
			end[i]++
			return string(end)
		}
	}
	return ""
}

// Change is one write of several, under conditions on what is stored.
type Change struct {
	Item   Item // written whole
	Delete bool // Item, of which only the key matters, is removed instead
	Conds  []Cond
}

// AtomicItems is a registry of which this process is the only writer, and that
// carries out several writes as one.
type AtomicItems interface {
	Items
	// Apply makes all changes, durably, or none. No two are of one key. It fails
	// with ErrCondition if a condition of any does not hold.
	Apply(ctx context.Context, changes []Change) error
}
