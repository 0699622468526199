package rollup

import "fmt"

// FillFieldCache puts lists into a cache with a limit. It returns the number of the remaining lists, the
// bytes that the cache counts for them, and the bytes that they have.
func FillFieldCache(lists, limit int) (n, counted, size int) {
	c := fieldCache{limit: limit}
	for i := range lists {
		b := &rollupList{list: make([]FieldRollup, i%50)}
		c.put(rollupListKey{prefix: fmt.Sprint(i / 2)}, b)
	}
	for _, b := range c.values {
		size += b.size()
	}
	return len(c.values), c.bytes, size
}
