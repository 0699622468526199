package registry

import (
	"context"
	"sync"
	"time"
)

// Cache holds copies of records, each for a limited time.
//
// Forget makes a change of this process visible at once: a copy that was read
// before the change, and arrives after it, is not kept. Changes of other processes
// are visible when the copy expires. A cache is safe for concurrent use.
type Cache[K comparable, V any] struct {
	o CacheOptions[V]

	mu     sync.RWMutex
	epoch  int64 // raised by Forget
	copies map[K]copied[V]
}

// CacheOptions are the limits of a cache. TTL and Now are required.
type CacheOptions[V any] struct {
	TTL time.Duration
	Now func() time.Time
	// Max is the number of copies. A further one clears the cache. 0 means no
	// limit.
	Max int
	// Lasting, if set, reports whether a value never changes again.
	Lasting func(V) bool
	// Older, if set, reports whether the first value is older than the second. An
	// older value does not replace a copy.
	Older func(a, b V) bool
}

// copied is a value and the time before it was read.
type copied[V any] struct {
	value V
	read  time.Time
}

// NewCache returns an empty cache.
func NewCache[K comparable, V any](o CacheOptions[V]) *Cache[K, V] {
	return &Cache[K, V]{o: o, copies: map[K]copied[V]{}}
}

// Get returns the copy of a key, or calls read and keeps its result. Errors of
// read are returned and not kept. Several callers may read one key at a time.
func (c *Cache[K, V]) Get(ctx context.Context, key K, read func(context.Context) (V, error)) (V, error) {
	now := c.o.Now()
	v, epoch, ok := c.valid(key, now)
	if ok {
		return v, nil
	}
	v, err := read(ctx)
	if err == nil {
		c.add(key, copied[V]{value: v, read: now}, epoch)
	}
	return v, err
}

// Lookup returns the copy of a key and its age, also if the copy has expired. The
// age is negative if the clock was set back.
func (c *Cache[K, V]) Lookup(key K) (v V, age time.Duration, ok bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	held, ok := c.copies[key]
	return held.value, c.o.Now().Sub(held.read), ok
}

// Set keeps a value that the caller has just read or written.
func (c *Cache[K, V]) Set(key K, v V) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.put(key, copied[V]{value: v, read: c.o.Now()})
}

// valid returns a copy that has not expired, and the epoch. A copy of the future,
// from before the clock was set back, has expired.
func (c *Cache[K, V]) valid(key K, now time.Time) (v V, epoch int64, ok bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	held, ok := c.copies[key]
	if !ok {
		return v, c.epoch, false
	}
	age := now.Sub(held.read)
	fresh := age >= 0 && age < c.o.TTL || c.o.Lasting != nil && c.o.Lasting(held.value)
	return held.value, c.epoch, fresh
}

// add keeps a copy that was read in an epoch, unless the epoch has ended.
func (c *Cache[K, V]) add(key K, v copied[V], epoch int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.epoch == epoch {
		c.put(key, v)
	}
}

// put keeps a copy, unless a newer one is kept. The lock is held.
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

// Forget removes the copy of a key, and ends the epoch.
func (c *Cache[K, V]) Forget(key K) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.epoch++
	delete(c.copies, key)
}
