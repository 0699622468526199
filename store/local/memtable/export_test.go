package memtable

// SetBlockRows sets the maximum number of rows in a block, and returns a function that restores it.
func SetBlockRows(n int) (restore func()) {
	old := blockRows
	blockRows = n
	return func() { blockRows = old }
}

// CacheSize returns the number of row blocks with cached columns, the bytes that the cache counts for
// them, and the sum of their bytes.
func (m *Shard) CacheSize() (entries int, counted, sum int64) {
	for i, p := range m.cache.entries {
		if p.at != i || p.home.packed.Load() != p {
			panic("an entry is not at its place")
		}
		sum += p.bytes
	}
	return len(m.cache.entries), m.cache.bytes, sum
}

// FirstCached returns the index of the first cached row of an entry of the cache.
func (m *Shard) FirstCached(entry int) int { return m.cache.entries[entry].first }
