package local

import (
	"slices"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store/local/memtable"
)

// seriesBuffer holds the readings of one series in one table that are not in chunks. Without
// readings, it caches facts about the chunks. Store.mu guards it.
type seriesBuffer struct {
	memtable.Source
	table *table

	// evicted means that the buffer was idle and is no longer in its table. A caller that still
	// has it must look up the buffer of the series again.
	evicted bool

	// maxFlushed is the last event time in chunks, and level0 the number of chunks of level 0.
	// Both are valid if flushedKnown is set. Without chunks they are memtable.NoTime and 0.
	flushedKnown bool
	maxFlushed   int64
	level0       int

	// rows holds the readings of the two memtables, indexed by parity.
	rows [2]memtable.Rows
	// epoch is the flush epoch of the last flush of rows, or of the creation of the buffer.
	// Results that were read from chunks before are out of date.
	epoch uint64

	// newest caches the last reading by event time in chunks. It is valid while epoch equals
	// newestEpoch.
	newest      *varve.Reading
	newestEpoch uint64
}

// makeBuffer returns the buffer of a series in a table, and creates it if it is missing. The
// caller holds the lock.
func (s *Store) makeBuffer(t *table, series varve.Series) *seriesBuffer {
	b, ok := t.buffers[series]
	if !ok {
		series = cloneSeries(series)
		// A table without chunks has no chunks of this series.
		b = &seriesBuffer{
			Source: memtable.Source{Table: t.number, Series: series}, table: t,
			maxFlushed: memtable.NoTime, flushedKnown: !s.hasChunks(t), epoch: s.epoch,
		}
		t.buffers[series] = b
		s.bufferCount++
	}
	return b
}

// idleLimit returns the number of series buffers without readings that stay in memory.
func (s *Store) idleLimit() int { return int(max(s.opts.MemtableBytes/(4*memtable.BufferBytes), 1000)) }

// hasTooManyIdle reports whether idle series buffers should be evicted at once. The caller holds
// the lock.
func (s *Store) hasTooManyIdle() bool {
	return s.bufferCount > len(s.filled[0])+len(s.filled[1])+2*s.idleLimit()
}

// evictAtOnce is the number of series buffers that are examined under one lock.
const evictAtOnce = 5000

// evictIdle evicts idle series buffers from their tables, if they are too many.
func (s *Store) evictIdle() {
	s.mu.RLock()
	tables := slices.Clone(s.tables.sorted)
	s.mu.RUnlock()
	for _, t := range tables {
		for s.evictSome(t) {
		}
	}
}

// evictSome evicts some idle buffers of a table. It reports whether more may have to be evicted.
func (s *Store) evictSome(t *table) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	examined, evicted := 0, 0
	for series, b := range t.buffers {
		if s.bufferCount <= s.idleLimit() || examined == evictAtOnce {
			break
		}
		examined++
		if b.rows[0].Len() == 0 && b.rows[1].Len() == 0 {
			delete(t.buffers, series)
			b.evicted = true
			s.bufferCount--
			evicted++
		}
	}
	return s.bufferCount > s.idleLimit() && evicted > 0
}

// appendEntries adds readings after all others of a series buffer. Bodies are their bodies, one
// after another. The caller holds the lock.
func (s *Store) appendEntries(b *seriesBuffer, rows []memtable.Entry, shape uint32, bodies []byte) {
	s.countEntries(b, len(rows), len(bodies))
	s.mutable.Append(&b.rows[s.mutable.Parity], rows, shape, bodies)
}

// insertEntry adds a reading at a spot of a series buffer. The caller holds the lock.
func (s *Store) insertEntry(b *seriesBuffer, at memtable.Spot, e memtable.Entry, shape uint32, body []byte) {
	s.countEntries(b, 1, len(body))
	s.mutable.Insert(&b.rows[s.mutable.Parity], at, e, shape, body)
}

// countEntries counts n readings with their bodies, which are about to be added to a series buffer.
func (s *Store) countEntries(b *seriesBuffer, n, body int) {
	m := s.mutable
	bytes := memtable.Size(n, body)
	if b.rows[m.Parity].Len() == 0 {
		s.filled[m.Parity] = append(s.filled[m.Parity], b)
		bytes += memtable.BufferBytes
	}
	m.Readings += int64(n)
	m.Bytes += bytes
	count := &b.table.memtables[m.Parity]
	count.readings += int64(n)
	count.bytes += bytes
}

// view returns a view of rows of a series buffer. The caller holds the lock.
func (b *seriesBuffer) view(m *memtable.Memtable, rows []memtable.Row) *memtable.View {
	return m.View(b.Series, b.table.base(), rows)
}
