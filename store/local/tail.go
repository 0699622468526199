package local

import (
	"slices"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store/local/memtable"
)

// tail is the series buffer: the readings of one series in one table that are not in chunks.
// Store.mu guards it.
type tail struct {
	memtable.Source
	table *table

	// gone means that the tail was idle and was evicted from its table. Its holders must look up
	// the tail of the series.
	gone bool

	// edge is the last event time in chunks, and smalls the number of chunks of level 0. Both
	// are valid if known is set. Without chunks they are memtable.NoTime and 0.
	known  bool
	edge   int64
	smalls int

	// rows holds the readings of the two memtables, indexed by parity.
	rows [2]memtable.Rows
	// cleared is the value of Store.clears at the last flush of rows, or at the creation of the
	// tail. Results that were read from chunks before are out of date.
	cleared uint64

	// newest caches the last reading by event time in chunks. It is valid while cleared equals
	// newestOf.
	newest   *varve.Reading
	newestOf uint64
}

// makeTail returns the tail of a series, and creates it if it is missing. The caller holds the
// lock.
func (s *Store) makeTail(t *table, series varve.Series) *tail {
	tl, ok := t.tails[series]
	if !ok {
		series = cloneSeries(series)
		// A table without chunks has no chunks of this series.
		tl = &tail{
			Source: memtable.Source{Table: t.number, Series: series}, table: t,
			edge: memtable.NoTime, known: !s.hasChunks(t), cleared: s.clears,
		}
		t.tails[series] = tl
		s.tails++
	}
	return tl
}

// idleTails returns the number of tails without readings that are kept, because they cache facts
// about chunks.
func (s *Store) idleTails() int { return int(max(s.opts.TailBytes/(4*memtable.BufferBytes), 1000)) }

// crowded reports whether so many tails are idle that some should be evicted at once. The caller
// holds the lock.
func (s *Store) crowded() bool {
	return s.tails > len(s.filled[0])+len(s.filled[1])+2*s.idleTails()
}

// forgetAtOnce is the number of tails that are examined under one lock.
const forgetAtOnce = 5000

// forgetTails evicts idle tails from their tables, if they are too many.
func (s *Store) forgetTails() {
	s.mu.RLock()
	tables := slices.Clone(s.tables.sorted)
	s.mu.RUnlock()
	for _, t := range tables {
		for s.forgetSome(t) {
		}
	}
}

// forgetSome examines some tails of a table, and reports whether more may have to be evicted.
func (s *Store) forgetSome(t *table) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	looked, forgot := 0, 0
	for series, tl := range t.tails {
		if s.tails <= s.idleTails() || looked == forgetAtOnce {
			break
		}
		looked++
		if tl.rows[0].Len() == 0 && tl.rows[1].Len() == 0 {
			delete(t.tails, series)
			tl.gone = true
			s.tails--
			forgot++
		}
	}
	return s.tails > s.idleTails() && forgot > 0
}

// append adds readings after all others of a tail. Bodies are their bodies, one after another.
// The caller holds the lock.
func (s *Store) append(t *tail, rows []memtable.Entry, shape uint32, bodies []byte) {
	s.count(t, len(rows), len(bodies))
	s.active.Append(&t.rows[s.active.Parity], rows, shape, bodies)
}

// insert adds a reading at a spot of a tail. The caller holds the lock.
func (s *Store) insert(t *tail, at memtable.Spot, e memtable.Entry, shape uint32, body []byte) {
	s.count(t, 1, len(body))
	s.active.Insert(&t.rows[s.active.Parity], at, e, shape, body)
}

// count counts n readings with their bodies, which are about to be added to a tail.
func (s *Store) count(t *tail, n, body int) {
	m := s.active
	bytes := memtable.Size(n, body)
	if t.rows[m.Parity].Len() == 0 {
		s.filled[m.Parity] = append(s.filled[m.Parity], t)
		bytes += memtable.BufferBytes
	}
	m.Readings += int64(n)
	m.Bytes += bytes
	count := &t.table.heads[m.Parity]
	count.readings += int64(n)
	count.bytes += bytes
}

// view returns a view of rows of a tail. The caller holds the lock.
func (t *tail) view(m *memtable.Memtable, rows []memtable.Row) *memtable.View {
	return m.View(t.Series, t.table.base(), rows)
}
