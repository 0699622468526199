package dynamosim

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"github.com/cespare/xxhash/v2"
)

const shardBits = 6

// keyspace has the items of a table or an index. It is divided into shards by ranges of the
// hashes of partition keys.
type keyspace struct {
	shards [1 << shardBits]shard
}

// shard has the item collections in a range of hashes.
type shard struct {
	mu     sync.RWMutex
	byKey  map[string]*collection
	sorted []*collection // the collections, ordered by hash; nil if they must be sorted first
}

// collection has the items of one partition key, ordered by sort key.
type collection struct {
	key     string
	hash    uint64
	entries []entry
}

type entry struct {
	sortKey
	record *record
}

// sortKey orders the items of a collection.
type sortKey struct {
	sort string // bytes of the sort key
	tie  string // primary key of the item; it orders items that have the same sort key in an index
}

func (p sortKey) compare(q sortKey) int {
	if c := strings.Compare(p.sort, q.sort); c != 0 {
		return c
	}
	return strings.Compare(p.tie, q.tie)
}

// record is a stored item. It is immutable.
type record struct {
	data  []byte // JSON
	size  int    // size in bytes, as Amazon bills it
	views []view // for each index of the table, the item as the index has it
}

// view is an item as an index has it. The record is nil if the index does not have the item.
type view struct {
	hash    string // partition key in the index
	sortKey sortKey
	record  *record
}

func hashOf(key string) uint64 { return xxhash.Sum64String(key) }

func (k *keyspace) shardOf(hash uint64) *shard { return &k.shards[hash>>(64-shardBits)] }

// find returns the record with the given keys, or nil. The caller must hold the lock.
func (s *shard) find(key string, p sortKey) *record {
	c := s.byKey[key]
	if c == nil {
		return nil
	}
	if i, found := c.search(p); found {
		return c.entries[i].record
	}
	return nil
}

// put stores a record under the given keys. The caller must hold the lock.
func (s *shard) put(key string, hash uint64, p sortKey, r *record) {
	c := s.byKey[key]
	if c == nil {
		if s.byKey == nil {
			s.byKey = map[string]*collection{}
		}
		c = &collection{key: key, hash: hash}
		s.byKey[key], s.sorted = c, nil
	}
	if n := len(c.entries); n == 0 || c.entries[n-1].compare(p) < 0 {
		c.entries = append(c.entries, entry{p, r})
	} else if i, found := c.search(p); found {
		c.entries[i].record = r
	} else {
		c.entries = slices.Insert(c.entries, i, entry{p, r})
	}
}

// remove removes the record with the given keys. The caller must hold the lock.
func (s *shard) remove(key string, p sortKey) {
	c := s.byKey[key]
	if c == nil {
		return
	}
	if i, found := c.search(p); found {
		c.entries = slices.Delete(c.entries, i, i+1)
	}
	if len(c.entries) == 0 {
		delete(s.byKey, key)
		s.sorted = nil
	}
}

func (c *collection) search(p sortKey) (int, bool) {
	return slices.BinarySearchFunc(c.entries, p, func(e entry, p sortKey) int { return e.compare(p) })
}

// inOrder returns the collections of a shard ordered by their hashes. The caller must hold the
// write lock.
func (s *shard) inOrder() []*collection {
	if s.sorted == nil && len(s.byKey) > 0 {
		for _, c := range s.byKey {
			s.sorted = append(s.sorted, c)
		}
		slices.SortFunc(s.sorted, func(a, b *collection) int {
			return cmp.Or(cmp.Compare(a.hash, b.hash), strings.Compare(a.key, b.key))
		})
	}
	return s.sorted
}
