package local

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/local/memtable"
)

// seriesBuffer has the readings of one series in one table that are not in chunks. It also caches
// facts about the chunks of the series. The lock of memory guards it.
type seriesBuffer struct {
	memtable.Source
	table *table

	// evicted means that the buffer was idle and is no longer in its table. A caller that still has
	// the evicted buffer must look up the series again.
	evicted bool

	// maxFlushed is the last event time in chunks, and level0 the number of chunks of level 0.
	// Both are valid if flushedKnown is set. Without chunks they are memtable.NoTime and 0.
	flushedKnown bool
	maxFlushed   int64
	level0       int

	// rows has the readings of the two memtables, indexed by parity.
	rows [2]memtable.Rows
	// epoch is the flush epoch of the last change of the chunks: a flush of rows, or a deletion of
	// expired or erased readings. At first, it is the epoch of the buffer's creation. Results that
	// were read from chunks before the change are out of date.
	epoch uint64

	// newest caches the last reading by event time in chunks. It is valid while epoch equals
	// newestEpoch.
	newest      *varve.Reading
	newestEpoch uint64
}

// memory has the tables, their series buffers and the memtables. Writes, reads and flushes share
// it.
type memory struct {
	db *database

	// mu guards the fields below, and all tables, series buffers and memtables. No I/O happens
	// while mu is locked.
	mu          sync.RWMutex
	tables      *tables
	bufferCount int    // number of series buffers in all tables
	epoch       uint64 // flush epoch: grows when the chunks of a series buffer change
	mutable     *memtable.Memtable
	immutable   *memtable.Memtable // the memtable that is being flushed; nil if none exists
	filled      [2][]*seriesBuffer // the series buffers with rows in each memtable, by memtable.Parity
	records     uint64             // number of the last journal record
	room        chan struct{}      // closed when immutable becomes nil
	flushErr    error              // error of the last flush; nil after a success

	flushes   chan struct{} // signals that the mutable memtable or the journal segment is full
	evictions chan struct{} // signals that too many series buffers are idle
}

func newMemory(db *database) *memory {
	return &memory{
		db:        db,
		mutable:   memtable.New(0, db.opts.columnCache()),
		room:      make(chan struct{}),
		flushes:   make(chan struct{}, 1),
		evictions: make(chan struct{}, 1),
	}
}

// makeBuffer returns the buffer of a series in a table, and creates it if it is missing. The caller
// has locked mu.
func (m *memory) makeBuffer(t *table, series varve.Series) *seriesBuffer {
	b, ok := t.buffers[series]
	if !ok {
		series = cloneSeries(series)
		// In a table without chunks, this series has none. So its last event time in chunks is known:
		// NoTime.
		b = &seriesBuffer{
			Source: memtable.Source{Table: t.number, Series: series}, table: t,
			maxFlushed: memtable.NoTime, flushedKnown: !m.db.ledger.hasChunks(t), epoch: m.epoch,
		}
		t.buffers[series] = b
		if !t.dropped { // the buffers of a dropped table are no longer counted
			m.bufferCount++
		}
	}
	return b
}

// idleLimit returns the number of series buffers above which idle ones are evicted.
func (m *memory) idleLimit() int {
	return int(max(m.db.opts.MemtableBytes/(4*memtable.BufferBytes), 1000))
}

// hasTooManyIdle reports whether idle series buffers should be evicted immediately. The caller has
// locked mu.
func (m *memory) hasTooManyIdle() bool {
	return m.bufferCount > len(m.filled[0])+len(m.filled[1])+2*m.idleLimit()
}

// requestEviction signals the flushing goroutine if too many series buffers are idle. The caller has
// locked mu.
func (m *memory) requestEviction() {
	if !m.hasTooManyIdle() {
		return
	}
	select {
	case m.evictions <- struct{}{}:
	default:
	}
}

// evictAtOnce is the maximum number of series buffers that are examined before memory is unlocked.
const evictAtOnce = 5000

// evictIdle evicts idle series buffers while more than idleLimit buffers are in memory.
func (m *memory) evictIdle() {
	m.mu.RLock()
	tables := slices.Clone(m.tables.sorted)
	m.mu.RUnlock()
	for _, t := range tables {
		for m.evictSome(t) {
		}
	}
}

// evictSome evicts some idle buffers of a table. It reports whether more may have to be evicted.
func (m *memory) evictSome(t *table) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if t.dropped {
		return false
	}
	examined, evicted := 0, 0
	for series, b := range t.buffers {
		if m.bufferCount <= m.idleLimit() || examined == evictAtOnce {
			break
		}
		examined++
		if b.rows[0].Len() == 0 && b.rows[1].Len() == 0 {
			delete(t.buffers, series)
			b.evicted = true
			m.bufferCount--
			evicted++
		}
	}
	return m.bufferCount > m.idleLimit() && evicted > 0
}

// appendEntries adds readings after all others of a series buffer. The argument "bodies" has their
// bodies, one after another. The caller has locked mu.
func (m *memory) appendEntries(b *seriesBuffer, rows []memtable.Entry, shape uint32, bodies []byte) {
	m.countEntries(b, len(rows), len(bodies))
	m.mutable.Append(&b.rows[m.mutable.Parity], rows, shape, bodies)
}

// insertEntry adds a reading at a spot of a series buffer. The caller has locked mu.
func (m *memory) insertEntry(b *seriesBuffer, at memtable.Spot, e memtable.Entry, shape uint32, body []byte) {
	m.countEntries(b, 1, len(body))
	m.mutable.Insert(&b.rows[m.mutable.Parity], at, e, shape, body)
}

// countEntries counts n readings with their bodies, which are about to be added to a series buffer.
func (m *memory) countEntries(b *seriesBuffer, n, body int) {
	mt := m.mutable
	bytes := memtable.Size(n, body)
	if b.rows[mt.Parity].Len() == 0 {
		m.filled[mt.Parity] = append(m.filled[mt.Parity], b)
		bytes += memtable.BufferBytes
	}
	mt.Readings += int64(n)
	mt.Bytes += bytes
	count := &b.table.memtables[mt.Parity]
	count.readings += int64(n)
	count.bytes += bytes
}

// view returns a view of rows of a series buffer. The caller has locked mu.
func (b *seriesBuffer) view(m *memtable.Memtable, rows []memtable.Row) *memtable.View {
	return m.Content.View(b.Series, b.table.base(), rows)
}

// table returns a table by its name. The caller has locked mu.
func (m *memory) table(t grid.Table) (*table, error) {
	tb, ok := m.tables.byName[t]
	if !ok {
		if err := m.db.ledger.catalogIntact(); err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("%s: %w", t, store.ErrNoTable)
	}
	return tb, nil
}

// waitForRoom waits for a flush while the mutable memtable is too large. It fails if the last flush
// failed. The limit is higher for small writes, so that they do not wait because of large ones.
func (m *memory) waitForRoom(ctx context.Context, small bool) error {
	limit := 2 * m.db.opts.MemtableBytes
	if small {
		limit += m.db.opts.MemtableBytes / 4
	}
	for {
		m.mu.RLock()
		full, failed, room := m.mutable.IsFull(limit), m.flushErr, m.room
		m.mu.RUnlock()
		if !full {
			return nil
		}
		if failed != nil {
			return m.db.guard.Unavailable(fmt.Errorf("readings cannot be turned into chunks: %w", failed))
		}
		m.requestFlush()
		select {
		case <-room:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// wakeWriters ends all waits of waitForRoom. The caller has locked mu.
func (m *memory) wakeWriters() {
	close(m.room)
	m.room = make(chan struct{})
}

func (m *memory) requestFlush() {
	select {
	case m.flushes <- struct{}{}:
	default:
	}
}

// bufferOf returns the buffer of a series in a table, or nil if none exists. The caller has
// locked mu.
func (m *memory) bufferOf(l *store.Latest) *seriesBuffer {
	tb, err := m.table(l.Table)
	if err != nil {
		return nil
	}
	return tb.buffers[l.Series]
}

// epochOf returns the current flush epoch of a series. It is an argument of cacheNewest.
func (m *memory) epochOf(l *store.Latest) uint64 {
	m.mu.RLock()
	defer m.mu.RUnlock()
	if b := m.bufferOf(l); b != nil {
		return b.epoch
	}
	return m.epoch // the epoch of a new series buffer
}

// cacheNewest caches the latest reading of a series from chunks, unless these chunks have changed
// since the given flush epoch.
func (m *memory) cacheNewest(r *varve.Reading, l *store.Latest, epoch uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	tb, err := m.table(l.Table)
	if err != nil {
		return
	}
	if b := m.makeBuffer(tb, l.Series); b.epoch == epoch {
		kept := r.Clone()
		b.newest, b.newestEpoch = &kept, epoch
	}
	m.requestEviction()
}

// loadMaxFlushed sets maxFlushed and level0 of a series buffer if they are unknown. It sets nothing
// if the flush epoch of the buffer has changed since the caller read it.
func (m *memory) loadMaxFlushed(cr *chunkReader, b *seriesBuffer, epoch uint64) error {
	m.mu.RLock()
	known := b.flushedKnown
	m.mu.RUnlock()
	if known {
		return nil
	}
	maxTime, level0Chunks, err := cr.readMaxFlushed()
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if !b.flushedKnown && b.epoch == epoch {
		b.flushedKnown, b.maxFlushed, b.level0 = true, maxTime, level0Chunks
	}
	return nil
}
