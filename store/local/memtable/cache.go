package memtable

import (
	"math/rand/v2"
	"sync"

	"github.com/varvedb/varve/block"
)

// Caching limits the cache of the columns of a memtable.
type Caching struct {
	Bytes   int64 // limit on the memory of the cached columns; 0 means no cache
	MinRows int   // the fewest rows that are cached together; at least 1
}

// Cache holds columns of the rows of one memtable, so that repeated reads need not decode bodies.
// Its lock guards the entries, and is independent of the lock of the store.
//
// Rows are cached at their second read, so that a scan of all rows costs no memory. An insert makes
// the columns of its row block out of date (see rowBlock). A new memtable begins with an empty cache.
type Cache struct {
	Caching
	mu      sync.Mutex
	entries []*packed
	bytes   int64
}

// add adds an entry that fits into the cache, in place of an older entry of the same row block. It evicts
// random entries if the cache is full. So some entries remain if clients repeatedly read more rows than
// the cache holds.
func (c *Cache) add(p *packed) {
	if p.bytes > c.Bytes {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if old := p.home.packed.Swap(p); old != nil {
		c.remove(old)
	}
	for c.bytes+p.bytes > c.Bytes {
		old := c.entries[rand.IntN(len(c.entries))] //nolint:gosec // any choice is correct
		old.home.packed.Store(nil)
		c.remove(old)
	}
	p.at = len(c.entries)
	c.entries = append(c.entries, p)
	c.bytes += p.bytes
}

// remove removes an entry. The caller holds the lock.
func (c *Cache) remove(p *packed) {
	last := len(c.entries) - 1
	c.entries[p.at] = c.entries[last]
	c.entries[p.at].at = p.at
	c.entries[last] = nil
	c.entries = c.entries[:last]
	c.bytes -= p.bytes
}

// blockRange is the part of a Selection that is in one row block.
type blockRange struct {
	home     *rowBlock
	cached   *packed // nil if the row block has no cached columns, or they are out of date
	inserts  uint32  // value of rowBlock.inserts when the rows were selected
	first    int     // index in the row block of the first row
	from, to int     // indexes of the rows in the selection
}

// cachedTo returns the index in the selection after the last row whose columns are cached. If the
// cached columns lack the first row, or at least minRows of the last rows, they are not used. Then
// the result is s.from.
func (s *blockRange) cachedTo(minRows int) int {
	p := s.cached
	if p == nil || p.first > s.first {
		return s.from
	}
	end := s.from + p.first + p.n - s.first
	if end <= s.from || s.to-end >= minRows {
		return s.from
	}
	return end
}

// excludes reports whether the cached columns of the row block have none of the selected rows.
func (s *blockRange) excludes() bool {
	p := s.cached
	return p != nil && (p.first+p.n <= s.first || p.first >= s.first+s.to-s.from)
}

func (s *Selection) rangeOf(i int) *blockRange {
	k := 0
	for s.ranges[k].to <= i {
		k++
	}
	return &s.ranges[k]
}

// Run returns a range of the rows i with from <= i < to that LoadColumns can load together. The range
// begins with the first of these rows or, if desc is true, ends with the last one.
func (v *View) Run(from, to int, desc bool) (int, int) {
	if v.cache == nil {
		return from, to
	}
	s := v.selection.rangeOf(from)
	if desc {
		s = v.selection.rangeOf(to - 1)
	}
	from, to = max(from, s.from), min(to, s.to)
	switch end := s.cachedTo(v.cache.MinRows); {
	case end <= from || end >= to:
		return from, to
	case desc:
		return end, to
	default:
		return from, end
	}
}

// LoadColumns sets b to the readings of a range that Run returned, as Columns does. It uses cached
// columns if they exist. Otherwise, it may add the columns to the cache.
func (v *View) LoadColumns(from, to int, b *block.Block) error {
	if v.cache == nil {
		return v.Columns(from, to, b)
	}
	s := v.selection.rangeOf(from)
	if s.cachedTo(v.cache.MinRows) >= to {
		first := s.first - s.cached.first - s.from // index in the packed rows, minus the index in the selection
		b.Series = v.series
		s.cached.unpack(first+from, first+to, b)
		return nil
	}
	if err := v.Columns(from, to, b); err != nil {
		return err
	}
	// Cache b if it has at least MinRows rows and half of the selected rows of its row block, and the row
	// block was read before. Cached columns of other rows of this row block stay if they have at least as many
	// rows as b.
	n := to - from
	if n < v.cache.MinRows || 2*n < s.to-s.from || s.excludes() && s.cached.n >= n || !s.home.read.Swap(true) {
		return nil
	}
	p := packBlock(b)
	p.home, p.inserts, p.first = s.home, s.inserts, s.first+from-s.from
	v.cache.add(p)
	return nil
}
