package store

import (
	"context"
	"time"

	"github.com/varvedb/varve"
)

// Key is the primary key of an item: a partition key and a sort key.
type Key struct {
	PK, SK string
}

// Compare orders keys by partition key, then by sort key, byte by byte.
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

// Item is one entry of the registry.
//
// On DynamoDB the registry is one table with the attributes pk, sk, gsi1pk, gsi1sk, gsi2pk,
// gsi2sk and ttl, and one attribute for each of Attrs.
type Item struct {
	Key
	GSI1, GSI2 Key       // keys in the two secondary indexes; zero if the item is not in the index
	Expires    time.Time // in seconds; the zero time means never
	Attrs      map[string]varve.Value
}

// Index selects an order of the items.
type Index uint8

// The indexes.
const (
	Primary Index = iota
	GSI1
	GSI2
)

// In returns the key of the item in an index.
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

// Cond is a condition on the stored item, checked before a write. All conditions of a write must
// hold.
type Cond struct {
	Attr  string      // the attribute; "" for IfAbsent and IfExists
	Op    CondOp      //
	Value varve.Value // the operand of the comparison
}

// CondOp is the kind of a condition.
type CondOp uint8

// The kinds of condition. IfAbsent, IfExists, IfEquals and IfLess construct them.
const (
	Absent CondOp = iota + 1
	Exists
	Equals
	Less
)

// IfAbsent returns a condition that holds if the item does not exist.
func IfAbsent() Cond { return Cond{Op: Absent} }

// IfExists returns a condition that holds if the item exists.
func IfExists() Cond { return Cond{Op: Exists} }

// IfEquals returns a condition that holds if an attribute has the given value.
func IfEquals(attr string, v varve.Value) Cond { return Cond{Attr: attr, Op: Equals, Value: v} }

// IfLess returns a condition that holds if an attribute is less than v.
//
// The attribute and v must both be numbers, or both be strings.
func IfLess(attr string, v varve.Value) Cond { return Cond{Attr: attr, Op: Less, Value: v} }

// Holds reports whether the condition holds for an item, or for a missing one if it is nil.
// Stores without conditional writes use it.
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

// ItemQuery selects the items of one partition of an index.
type ItemQuery struct {
	Index Index
	PK    string
	// From and To bound the sort key in the index: From <= key < To. An empty bound has no
	// effect.
	From, To string
	Order    varve.Order
	// After continues after the last item of an earlier page. If nil, the query starts at the
	// beginning.
	After *Item
	Limit int // maximum number of items; 0 means that the store chooses
	// Consistent includes every acknowledged write. Secondary indexes may still lack the latest
	// ones.
	Consistent bool
}

// ItemPage is a part of the result of a query.
type ItemPage struct {
	Items []Item
	More  bool // items may follow the last one
	Cost  Cost
}

// Items is the registry: small items with a key, in order, with two secondary indexes. Reads and
// conditions treat an expired item as absent.
type Items interface {
	// Get returns the existing items of the given keys, in any order.
	Get(ctx context.Context, keys []Key, consistent bool) ([]Item, error)
	// Put writes a whole item, durably. It fails with ErrCondition.
	Put(ctx context.Context, it Item, conds ...Cond) error
	// Delete removes an item, durably. A missing item is not an error, unless a condition
	// requires it. Delete fails with ErrCondition.
	Delete(ctx context.Context, k Key, conds ...Cond) error
	// PutAll writes whole items without conditions. If it returns nil, all of them are durable.
	//
	// After an error, any subset may be durable. If a key occurs twice, the last item remains.
	// PutAll costs less than single Puts.
	PutAll(ctx context.Context, items []Item) error
	// PutAbsent writes the items whose keys are absent, durably, and reports which ones it
	// wrote.
	//
	// An existing item never changes, also under concurrent writes. If a key occurs twice, only
	// the first item can be written. After an error, any subset may be durable. PutAbsent costs
	// less than single Puts.
	PutAbsent(ctx context.Context, items []Item) (written []bool, err error)
	// DeleteAll removes items as PutAll writes them. Missing items are not an error.
	DeleteAll(ctx context.Context, keys []Key) error
	// Query returns the items of one partition, ordered by their sort key in the index.
	//
	// Only secondary indexes have equal sort keys. Their order depends on the store, but is the
	// same on every page.
	Query(ctx context.Context, q ItemQuery) (ItemPage, error)
}

// Reserver is the optional contract of stores that accept cleanup while they refuse other
// writes.
type Reserver interface {
	// Reserve returns a registry for writes that free space: rotation, and roll-ups before a
	// table is dropped. It accepts writes even if the store refuses others.
	Reserve() Items
}

// PrefixEnd returns the smallest string that is greater than all strings with the prefix.
//
// It increments the last byte that is not 0xff, and is meant for ItemQuery.To. It returns "" if
// no such string exists.
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

// Change is one write of a set, with conditions on the stored item.
type Change struct {
	Item   Item // the whole new item
	Delete bool // if true, the item with the key of Item is removed instead
	Conds  []Cond
}

// AtomicItems is a registry with transactions. This process is its only writer.
type AtomicItems interface {
	Items
	// Apply makes all changes or none, durably. Each key occurs at most once. Apply fails with
	// ErrCondition if a condition does not hold. The caller may reuse the attributes afterwards.
	Apply(ctx context.Context, changes []Change) error
}
