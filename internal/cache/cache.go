// Package cache has a bounded cache.
//
// Cache maps keys to values, and evicts the least recently used entries. [Limits] can also limit how
// long an entry is used, for values that other processes may change.
//
//	epoch, at := c.Epoch(), time.Now()
//	v := readFromDynamoDB()
//	c.PutSince(epoch, at, key, v, size) // does nothing if entries were dropped meanwhile
//
// Invariants: the number of entries and the sum of their sizes do not exceed the limits. A value
// that was read before a Drop is never stored after it.
package cache

import (
	"container/list"
	"sync"
	"time"
)

// Limits bounds the entries of a cache.
type Limits struct {
	Entries int           // 0 means no limit
	Size    int           // sum of the sizes of all entries; 0 means no limit
	Age     time.Duration // how long an entry is used; 0 means no limit
}

// Cache maps keys to values. The zero Cache has no limits. A Cache is safe for concurrent use.
type Cache[K comparable, V any] struct {
	limits Limits

	mu      sync.Mutex
	entries map[K]*list.Element // values are of type *entry
	used    list.List           // most recently used first
	size    int
	epoch   int // increased by each drop
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

// Put stores a value. It evicts other entries if a limit is exceeded.
func (c *Cache[K, V]) Put(key K, value V) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.store(&entry[K, V]{key: key, value: value, stored: time.Now()})
}

// PutSince stores a value that was read at a time, during an epoch. If entries were dropped since
// the epoch began, it stores nothing and returns false.
func (c *Cache[K, V]) PutSince(epoch int, at time.Time, key K, value V, size int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.epoch != epoch {
		return false
	}
	c.store(&entry[K, V]{key: key, value: value, size: size, stored: at})
	return true
}

// Update replaces the value of a key with the value that change returns. If change returns false,
// it removes the entry.
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

// Epoch returns the current epoch. Callers pass it to PutSince.
func (c *Cache[K, V]) Epoch() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.epoch
}

// Drop removes the entry of a key, and ends the epoch.
func (c *Cache[K, V]) Drop(key K) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.epoch++
	if el, ok := c.entries[key]; ok {
		c.remove(el)
	}
}

// DropIf removes the entries whose keys match, and ends the epoch.
func (c *Cache[K, V]) DropIf(matches func(K) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.epoch++
	for key, el := range c.entries {
		if matches(key) {
			c.remove(el)
		}
	}
}

// Clear removes all entries, and ends the epoch.
func (c *Cache[K, V]) Clear() { c.DropIf(func(K) bool { return true }) }

// Len returns the number of entries and the sum of their sizes. Expired entries count until they
// are removed.
func (c *Cache[K, V]) Len() (entries, size int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.entries), c.size
}

// store adds or replaces an entry, and then evicts entries. The caller must hold the lock.
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
