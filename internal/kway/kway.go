// Package kway selects the next value in a merge of sorted sequences.
//
// A merge has only a few sequences, such as the readings in each table of a query, or in each shard
// of a device. For these, comparing the first value of each sequence is faster than a heap.
//
// [Least] returns the sequence with the smallest first value. Among equal values, the lowest index
// wins, so a merge is stable. The function cannot fail, and changes nothing.
package kway

// Least returns the index of the sequence with the smallest first value, or -1 if all n sequences
// are empty. If several are equal, it returns the lowest index. The function "head" returns the first
// value of sequence i, or nil if the sequence is empty.
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
