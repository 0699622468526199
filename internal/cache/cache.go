// Package cache implements a bounded cache of values in memory.
//
// A [Cache] maps keys to values, and removes the least recently used entries. [Limits] can also
// limit how long an entry is used, for values that other processes may change.
//
//	drops, at := c.Drops(), time.Now()
//	v := readFromDynamoDB()
//	c.PutSince(drops, at, key, v, size) // does nothing if entries were dropped meanwhile
//
// These rules always hold:
//
//   - The number of entries and the sum of their sizes do not exceed the limits.
//   - [Cache.PutSince] never stores a value that was read before a call of Drop, DropIf or Clear.
//
// No method fails, and each waits only for a lock. A Cache is safe for concurrent use.
package cache

import (
	"container/list"
	"sync"
	"time"
)

// Limits bounds the entries of a cache.
type Limits struct {
	Entries int           // maximum number of entries; 0 means no limit
	Size    int           // maximum sum of the sizes of all entries; 0 means no limit
	Age     time.Duration // how long an entry is used; 0 means no limit
}

// Cache maps keys to values. The zero Cache has no limits. A Cache is safe for concurrent use.
type Cache[K comparable, V any] struct {
	limits Limits

	mu      sync.Mutex
	entries map[K]*list.Element // values are of type *entry
	used    list.List           // entries, the most recently used first
	size    int
	drops   int // number of calls of Drop, DropIf and Clear
}

type entry[K comparable, V any] struct {
	key    K
	value  V
	size   int
	stored time.Time
}

// New returns an empty cache.
func New[K comparable, V any](l Limits) *Cache[K, V] { return &Cache[K, V]{limits: l} }

// Get returns the value of a key and marks it as recently used. If the entry is too old, Get
// removes it.
func (c *Cache[K, V]) Get(key K) (value V, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	el, ok := c.entries[key]
	if !ok {
		return value, false
	}
	e := entryOf[K, V](el)
	if c.limits.Age > 0 && time.Since(e.stored) >= c.limits.Age {
		c.remove(el)
		return value, false
	}
	c.used.MoveToFront(el)
	return e.value, true
}

// Put stores a value with the size 0. It removes the least recently used entries if a limit is
// exceeded.
func (c *Cache[K, V]) Put(key K, value V) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.store(&entry[K, V]{key: key, value: value, stored: time.Now()})
}

// PutSince stores a value that was read at the time "at". The argument "drops" is the result of Drops
// before the read. If entries were dropped since then, PutSince stores nothing and returns false.
func (c *Cache[K, V]) PutSince(drops int, at time.Time, key K, value V, size int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.drops != drops {
		return false
	}
	c.store(&entry[K, V]{key: key, value: value, size: size, stored: at})
	return true
}

// Update replaces the value of a key with the value that the function "change" returns. The argument
// of the function is the old value, or the zero value if the key has no entry. If the function returns
// false, Update removes the entry.
func (c *Cache[K, V]) Update(key K, change func(old V) (V, bool)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var old V
	el, exists := c.entries[key]
	if exists {
		old = entryOf[K, V](el).value
	}
	value, ok := change(old)
	switch {
	case ok:
		c.store(&entry[K, V]{key: key, value: value, stored: time.Now()})
	case exists:
		c.remove(el)
	}
}

// Drops returns the number of calls of Drop, DropIf and Clear so far. Callers pass the result to
// PutSince.
func (c *Cache[K, V]) Drops() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.drops
}

// Drop removes the entry of a key. It makes earlier results of Drops invalid.
func (c *Cache[K, V]) Drop(key K) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drops++
	if el, ok := c.entries[key]; ok {
		c.remove(el)
	}
}

// DropIf removes the entries whose keys match. It makes earlier results of Drops invalid.
func (c *Cache[K, V]) DropIf(matches func(K) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drops++
	for key, el := range c.entries {
		if matches(key) {
			c.remove(el)
		}
	}
}

// Clear removes all entries. It makes earlier results of Drops invalid.
func (c *Cache[K, V]) Clear() { c.DropIf(func(K) bool { return true }) }

// Len returns the number of entries and the sum of their sizes. Expired entries count until they
// are removed.
func (c *Cache[K, V]) Len() (entries, size int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.entries), c.size
}

// store adds or replaces an entry. Then it removes the least recently used entries until the limits
// hold. The caller must hold the lock.
func (c *Cache[K, V]) store(e *entry[K, V]) {
	if el, ok := c.entries[e.key]; ok {
		c.remove(el)
	}
	if c.entries == nil {
		c.entries = map[K]*list.Element{}
	}
	c.entries[e.key] = c.used.PushFront(e)
	c.size += e.size
	for c.limits.Entries > 0 && len(c.entries) > c.limits.Entries || c.limits.Size > 0 && c.size > c.limits.Size {
		c.remove(c.used.Back())
	}
}

// remove removes an entry. The caller must hold the lock.
func (c *Cache[K, V]) remove(el *list.Element) {
	e := entryOf[K, V](el)
	c.used.Remove(el)
	delete(c.entries, e.key)
	c.size -= e.size
}

func entryOf[K comparable, V any](el *list.Element) *entry[K, V] {
	return el.Value.(*entry[K, V]) //nolint:forcetypeassert // the list contains entries only
}
