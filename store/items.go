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

// Compare orders keys by partition key, then by sort key. It compares them byte by byte.
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
// On DynamoDB, the registry is one table. Its attributes are pk, sk, gsi1pk, gsi1sk, gsi2pk,
// gsi2sk, ttl, and one for each entry of Attrs.
type Item struct {
	Key
	GSI1, GSI2 Key       // keys in the secondary indexes; a zero key means that the index omits the item
	Expires    time.Time // in whole seconds; the zero time means never
	Attrs      map[string]varve.Value
}

// Index selects the primary or a secondary index of the registry.
type Index uint8

// The primary index and the two secondary indexes, which order the items by other keys.
const (
	Primary Index = iota
	GSI1
	GSI2
)

// In returns the key of the item in the given index.
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

// Cond is a condition on the stored item. It is checked before a write. If a write has several
// conditions, all must be true.
type Cond struct {
	Attr  string      // name of the attribute; "" for IfAbsent and IfExists
	Op    CondOp      // kind of the condition
	Value varve.Value // value with which the attribute is compared
}

// CondOp is the kind of a condition.
type CondOp uint8

// The kinds of condition. IfAbsent, IfExists, IfEquals and IfLess construct conditions of these
// kinds.
const (
	Absent CondOp = iota + 1
	Exists
	Equals
	Less
)

// IfAbsent returns a condition that is true if the item does not exist.
func IfAbsent() Cond { return Cond{Op: Absent} }

// IfExists returns a condition that is true if the item exists.
func IfExists() Cond { return Cond{Op: Exists} }

// IfEquals returns a condition that is true if an attribute has the given value.
func IfEquals(attr string, v varve.Value) Cond { return Cond{Attr: attr, Op: Equals, Value: v} }

// IfLess returns a condition that is true if an attribute is less than v.
//
// If the attribute and v are not both numbers or both strings, the condition is false.
func IfLess(attr string, v varve.Value) Cond { return Cond{Attr: attr, Op: Less, Value: v} }

// IsTrue reports whether the condition is true for an item, where nil means that the item is
// missing. Stores whose database has no conditional writes use it.
func (c Cond) IsTrue(it *Item) bool {
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
	// From and To limit the sort key in the index: From <= key < To. If a bound is empty, that
	// end is open.
	From, To string
	Order    varve.Order
	// After is the last item of the previous page. The query continues after it. If After is nil,
	// the query starts at the beginning.
	After *Item
	Limit int // maximum number of items; 0 means that the store chooses
	// If Consistent is true, the result includes every acknowledged write. Queries of a secondary
	// index may lack the latest writes even then.
	Consistent bool
}

// ItemPage is a part of the result of a query.
type ItemPage struct {
	Items []Item
	More  bool // whether items may follow the last one
	Cost  Cost
}

// Items is the registry. It contains small items, each with a key and optional keys in two
// secondary indexes. Reads and conditions treat an expired item as missing.
type Items interface {
	// Get returns the items that exist for the given keys, in any order.
	Get(ctx context.Context, keys []Key, consistent bool) ([]Item, error)
	// Put writes a whole item, durably. If a condition is false, Put fails with ErrCondition.
	Put(ctx context.Context, it Item, conds ...Cond) error
	// Delete removes an item, durably. If a condition is false, Delete fails with ErrCondition.
	// Without conditions, a missing item is not an error.
	Delete(ctx context.Context, k Key, conds ...Cond) error
	// PutAll writes whole items without conditions. If it returns nil, all of them are durable.
	//
	// After an error, any subset may be durable. If a key occurs twice, the last item remains.
	// PutAll costs less than one Put for each item.
	PutAll(ctx context.Context, items []Item) error
	// PutAbsent writes the items whose keys are missing, durably. For each item, the result reports
	// whether the item was written.
	//
	// PutAbsent never changes an existing item, even under concurrent writes. If a key occurs
	// twice, only the first item can be written. After an error, any subset may be durable.
	// If most of the items exist, PutAbsent costs less than one Put for each item.
	PutAbsent(ctx context.Context, items []Item) (written []bool, err error)
	// DeleteAll removes items with the same guarantees as PutAll. Missing items are not an error.
	DeleteAll(ctx context.Context, keys []Key) error
	// Query returns the items of one partition, ordered by their sort key in the index.
	//
	// Several items can have the same sort key only in a secondary index. Their order depends on
	// the store, but is the same on every page.
	Query(ctx context.Context, q ItemQuery) (ItemPage, error)
}

// Reserver is the optional contract of stores that accept some items even if the disk is almost
// full.
type Reserver interface {
	// Reserve returns a registry for jobs that free space, or whose writes must succeed before
	// tables can be dropped. Examples are the rotation, the archive and the aggregator of roll-ups.
	Reserve() Items
}

// PrefixEnd returns the smallest string that is greater than all strings with the prefix.
//
// Use it for ItemQuery.To. It increments the last byte that is not 0xff. It returns "" if every
// byte of the prefix is 0xff, because no such string exists then.
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

// Change is one of several writes of a transaction, with conditions on the stored item.
type Change struct {
	Item   Item // the whole new item, or the key of the item to remove
	Delete bool // if true, the item with this key is removed
	Conds  []Cond
}

// AtomicItems is a registry with transactions. Only this process may write to it.
type AtomicItems interface {
	Items
	// Apply makes all changes, durably, or none. Each key may occur at most once. Apply fails with
	// ErrCondition if a condition is false. After Apply returns, the caller may change the
	// attributes.
	Apply(ctx context.Context, changes []Change) error
}
