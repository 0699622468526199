// Package kway selects the next value in a merge of sorted sources.
//
// A merge has only a few sources, such as the tables of a query or the shards of a device. For
// these, comparing the first value of each source is faster than a heap.
package kway

// Least returns the index of the source with the smallest first value, or -1 if all sources are
// empty. If several are equal, it returns the lowest index. head returns the first value of
// source i, or nil if it is empty.
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
