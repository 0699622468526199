package rollup

import "sync"

// sized is a value with an approximate size in bytes, which includes its key in a cache. The size never
// changes.
type sized interface{ size() int }

// cache caches values up to a limit in bytes. The zero value caches nothing.
type cache[K comparable, V sized] struct {
	mu     sync.Mutex
	bytes  int // size of all values
	limit  int // largest allowed size, in bytes
	values map[K]V
}

func (c *cache[K, V]) get(k K) (V, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	v, ok := c.values[k]
	return v, ok
}

// put adds a value. While the cache is larger than its limit, it removes values in random order.
func (c *cache[K, V]) put(k K, v V) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.remove(k)
	if c.values == nil {
		c.values = map[K]V{}
	}
	c.values[k] = v
	c.bytes += v.size()
	for other := range c.values {
		if c.bytes <= c.limit {
			break
		}
		c.remove(other)
	}
}

// remove removes a value. The caller has locked mu.
func (c *cache[K, V]) remove(k K) {
	if v, ok := c.values[k]; ok {
		c.bytes -= v.size()
		delete(c.values, k)
	}
}
