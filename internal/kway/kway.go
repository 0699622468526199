// Package kway selects the next value of a merge of ordered sources.
//
// A merge has a few sources, such as the tables of a query or the shards of a device, so a scan
// of their heads is faster than a heap.
package kway

// Least returns the index of the source with the least head, or -1 if all sources are empty. Of
// equal heads, it returns the first. head returns nil if source i is empty.
func Least[T any](n int, head func(i int) *T, less func(a, b *T) bool) int {
	least := -1
	var best *T
	for i := range n {
		if h := head(i); h != nil && (best == nil || less(h, best)) {
			least, best = i, h
		}
	}
	return least
}
