package dynamosim

import (
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/varvedb/varve/tests/dynamosim/capacity"
	"github.com/varvedb/varve/tests/dynamosim/value"
)

// maxItem is the largest size of an item.
const maxItem = 400 << 10

// keyAttr is a key attribute. If a table has no sort key, the name of the sort key is "".
type keyAttr struct {
	name string
	kind value.Kind
}

// schema has the keys of a table or an index.
type schema struct{ hash, sort keyAttr }

func (s *schema) attrs() []keyAttr {
	if s.sort.name == "" {
		return []keyAttr{s.hash}
	}
	return []keyAttr{s.hash, s.sort}
}

// primary is the primary key of an item.
type primary struct {
	key  string
	hash uint64
	at   sortKey
}

type table struct {
	schema

	name, id string
	created  time.Time
	data     keyspace
	indexes  []*index
	units    throughput

	items, bytes atomic.Int64

	mu       sync.Mutex // guards the settings
	settings settings
}

// index is a global secondary index.
type index struct {
	schema

	name       string
	projection string
	others     []string // attributes in addition to the keys, if the projection is INCLUDE
	data       keyspace
	units      throughput
}

// throughput has the limits and the consumed units of a table or an index.
type throughput struct {
	limited  *capacity.Throughput // if nil, no request is throttled
	onDemand atomic.Bool
	resource string // ARN of the table or the index
	ofIndex  bool

	halves    [2]atomic.Int64 // consumed units, counted in halves
	throttles throttles
}

// admit fails if a request must be throttled.
func (u *throughput) admit(now time.Time, k capacity.Kind, hash uint64) error {
	if u.limited == nil {
		return nil
	}
	reason := u.limited.Admit(now, k, hash)
	if reason == "" {
		return nil
	}
	u.throttles.add(hash)
	scope := "Table"
	if u.ofIndex {
		scope = "Index"
	}
	return throttled(u.onDemand.Load(), scope+[...]string{"Read", "Write"}[k], reason, u.resource)
}

// consume counts the units of a request and charges them.
func (u *throughput) consume(now time.Time, k capacity.Kind, hash uint64, units float64) {
	u.halves[k].Add(int64(2 * units))
	if u.limited != nil {
		u.limited.Consume(now, k, hash, units)
	}
}

// checkKeys fails if a key of an item is missing or invalid.
func (t *table) checkKeys(it value.Item) error {
	for _, k := range t.attrs() {
		v := it.Get(k.name)
		switch {
		case v == nil:
			return invalid("One or more parameter values were invalid: Missing the key %s in the item", k.name)
		case v.Kind != k.kind:
			return invalid("One or more parameter values were invalid: Type mismatch for key %s expected: %s actual: %s", k.name, k.kind, v.Kind)
		case v.Text == "":
			return invalid("One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty string value. Key: %s", k.name)
		}
	}
	return t.checkIndexKeys(it)
}

// checkIndexKeys fails if an item has an index key of the wrong type or an empty one.
func (t *table) checkIndexKeys(it value.Item) error {
	for _, ix := range t.indexes {
		for _, k := range ix.attrs() {
			v := it.Get(k.name)
			switch {
			case v == nil:
			case v.Kind != k.kind:
				return invalid("One or more parameter values were invalid: Type mismatch for Index Key %s Expected: %s Actual: %s IndexName: %s", k.name, k.kind, v.Kind, ix.name)
			case v.Text == "":
				return invalid("One or more parameter values are not valid. A value specified for a secondary index key is not supported. "+
					"The AttributeValue for a key attribute cannot contain an empty string value. IndexName: %s, IndexKey: %s", ix.name, k.name)
			}
		}
	}
	return nil
}

// checkKey fails if a key of a request is not a valid primary key of the table.
func (t *table) checkKey(key value.Item) error {
	attrs := t.attrs()
	if len(key) != len(attrs) {
		return invalid("The provided key element does not match the schema")
	}
	for _, k := range attrs {
		v := key.Get(k.name)
		switch {
		case v == nil || v.Kind != k.kind:
			return invalid("The provided key element does not match the schema")
		case v.Text == "":
			return invalid("One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an empty string value. Key: %s", k.name)
		}
	}
	return nil
}

// primaryOf returns the primary key of an item whose keys are valid.
func (t *table) primaryOf(it value.Item) primary {
	p := primary{key: it.Get(t.hash.name).Text}
	p.hash = hashOf(p.key)
	if t.sort.name != "" {
		p.at.sort = it.Get(t.sort.name).SortKey()
	}
	return p
}

// view returns an item as the index has it.
func (ix *index) view(t *table, it value.Item, whole *record) (v view) {
	hash := it.Get(ix.hash.name)
	if hash == nil {
		return v
	}
	v.hash = hash.Text
	if ix.sort.name != "" {
		sort := it.Get(ix.sort.name)
		if sort == nil {
			return view{}
		}
		v.sortKey.sort = sort.SortKey()
	}
	v.sortKey.tie = ix.tieOf(t, it)
	v.record = whole
	if ix.projection != "ALL" {
		part := ix.project(t, it)
		v.record = &record{data: part.JSON(), size: part.Size()}
	}
	return v
}

// tieOf returns the primary key of an item as text.
func (*index) tieOf(t *table, it value.Item) string {
	p := t.primaryOf(it)
	return p.key + "\x00" + p.at.sort
}

// project returns the attributes of an item that the index has.
func (ix *index) project(t *table, it value.Item) (part value.Item) {
	for _, attrs := range [][]keyAttr{t.attrs(), ix.attrs()} {
		for _, k := range attrs {
			if v := it.Get(k.name); v != nil {
				part = part.Set(k.name, *v)
			}
		}
	}
	for _, name := range ix.others {
		if v := it.Get(name); v != nil {
			part = part.Set(name, *v)
		}
	}
	return part
}

func (t *table) indexNamed(name string) (*index, error) {
	for _, ix := range t.indexes {
		if ix.name == name {
			return ix, nil
		}
	}
	return nil, invalid("The table does not have the specified index: %s", name)
}

func arn(name string) string { return arnPrefix + name }

const arnPrefix = "arn:aws:dynamodb:us-east-1:000000000000:table/"

func nameOf(arn string) string { return strings.TrimPrefix(arn, arnPrefix) }
