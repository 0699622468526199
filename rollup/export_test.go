package rollup

import "fmt"

// FillFieldCache puts blocks into a cache with a limit. It returns the number of the remaining blocks,
// and their counted and real sizes.
func FillFieldCache(blocks, limit int) (n, counted, size int) {
	c := fieldCache{limit: limit}
	for i := range blocks {
		b := &fieldBlock{list: make([]FieldRollup, i%50)}
		c.put(blockKey{prefix: fmt.Sprint(i / 2)}, b)
	}
	for _, b := range c.blocks {
		size += b.size()
	}
	return len(c.blocks), c.bytes, size
}
