package registry

import (
	"context"
	"sync"
	"time"
)

// Cache stores copies of values, each for a limited time.
//
// After Forget, changes of this process are visible immediately. A read that began before Forget does
// not add its result to the cache. Changes of other processes are visible when the copy expires.
// A cache is safe for concurrent use.
type Cache[K comparable, V any] struct {
	o CacheOptions[V]

	mu      sync.RWMutex
	forgets int64
	copies  map[K]copied[V]
}

// CacheOptions configure a cache. TTL and Now are required.
type CacheOptions[V any] struct {
	TTL time.Duration
	Now func() time.Time
	// Max is the largest number of copies. Adding one more clears the cache first. 0 means no
	// limit.
	Max int
	// Lasting, if set, reports whether a value never changes again. Copies of such values do not
	// expire.
	Lasting func(V) bool
	// Older, if set, reports whether the first value is older than the second. An older value does
	// not replace a copy.
	Older func(a, b V) bool
}

// copied is a value, and the time at which Get began to read it or Set received it.
type copied[V any] struct {
	value V
	read  time.Time
}

// NewCache returns an empty cache.
func NewCache[K comparable, V any](o CacheOptions[V]) *Cache[K, V] {
	return &Cache[K, V]{o: o, copies: map[K]copied[V]{}}
}

// Get returns the copy for a key. If no valid copy exists, it calls the function "read" and stores
// the result in the cache. Errors of the function are returned but not stored. Several callers may
// read the same key at the same time.
func (c *Cache[K, V]) Get(ctx context.Context, key K, read func(context.Context) (V, error)) (V, error) {
	now := c.o.Now()
	v, forgets, ok := c.valid(key, now)
	if ok {
		return v, nil
	}
	v, err := read(ctx)
	if err == nil {
		c.add(key, copied[V]{value: v, read: now}, forgets)
	}
	return v, err
}

// Lookup returns the copy for a key and its age, even if the copy has expired. The age is
// negative if the clock was set back since the copy was made.
func (c *Cache[K, V]) Lookup(key K) (v V, age time.Duration, ok bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	held, ok := c.copies[key]
	return held.value, c.o.Now().Sub(held.read), ok
}

// Set stores a value that the caller has just read or written.
func (c *Cache[K, V]) Set(key K, v V) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.put(key, copied[V]{value: v, read: c.o.Now()})
}

// valid returns the copy for a key, and the number of calls of Forget. The result ok is true if the
// copy has not expired. A copy with a negative age, from before the clock was set back, has
// expired, unless its value is lasting.
func (c *Cache[K, V]) valid(key K, now time.Time) (v V, forgets int64, ok bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	held, ok := c.copies[key]
	if !ok {
		return v, c.forgets, false
	}
	age := now.Sub(held.read)
	fresh := age >= 0 && age < c.o.TTL || c.o.Lasting != nil && c.o.Lasting(held.value)
	return held.value, c.forgets, fresh
}

// add stores a copy whose read began after the given number of calls of Forget. It does nothing if
// Forget has been called since.
func (c *Cache[K, V]) add(key K, v copied[V], forgets int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.forgets == forgets {
		c.put(key, v)
	}
}

// put stores a copy, unless the cache has a newer one. If the cache is full, put clears it first. The
// caller must have locked c.mu.
func (c *Cache[K, V]) put(key K, v copied[V]) {
	held, ok := c.copies[key]
	if ok && c.o.Older != nil && c.o.Older(v.value, held.value) {
		return
	}
	if !ok && c.o.Max > 0 && len(c.copies) >= c.o.Max {
		clear(c.copies)
	}
	c.copies[key] = v
}

// Forget removes the copy for a key. Reads that have begun do not add their results to the cache.
func (c *Cache[K, V]) Forget(key K) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.forgets++
	delete(c.copies, key)
}
