package local

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/local/memtable"
)

// seriesBuffer has the readings of one series in one table that are not in chunks. It also caches
// facts about the chunks of the series. The lock of its shard guards it.
type seriesBuffer struct {
	memtable.Source
	table   *table
	shard   int
	changes *store.ChangeCounter // counts the changes of the series in all tables

	// evicted means that the buffer was idle and is no longer in its table. A caller that still has
	// the evicted buffer must look up the series again.
	evicted bool

	// maxFlushed is the last event time in chunks, and level0 the number of chunks of level 0.
	// Both are valid if flushedKnown is set. Without chunks they are memtable.NoTime and 0.
	flushedKnown bool
	maxFlushed   int64
	level0       int

	// rows has the readings of the two memtables, indexed by Memtable.Parity.
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

	// mu guards the fields below, and all tables. The lock of each shard guards the series buffers and the
	// parts of the memtables with its series.
	mu        memoryLock
	tables    *tables
	mutable   *memtable.Memtable
	immutable *memtable.Memtable // the memtable that is being flushed; nil if none exists
	room      chan struct{}      // closed and replaced when immutable becomes nil, or a flush fails
	flushErr  error              // error of the last flush; nil after a success

	bufferCount atomic.Int64  // number of series buffers in all tables
	filledCount atomic.Int64  // number of series buffers with rows, counted for each memtable
	epoch       atomic.Uint64 // flush epoch: grows when the chunks of a series buffer change
	records     atomic.Uint64 // number of the last journal record

	flushes   chan struct{} // signals that the mutable memtable or the journal segment is full
	evictions chan struct{} // signals that too many series buffers are idle
}

func newMemory(db *database) *memory {
	shards := db.opts.shardCount()
	return &memory{
		db:        db,
		mu:        memoryLock{shards: make([]shard, shards)},
		mutable:   memtable.New(0, shards, db.opts.columnCache()),
		room:      make(chan struct{}),
		flushes:   make(chan struct{}, 1),
		evictions: make(chan struct{}, 1),
	}
}

// makeBuffer returns the buffer of a series in a table, and creates it if it is missing. The caller
// has locked the shard of the series.
func (m *memory) makeBuffer(t *table, shard int, series varve.Series) *seriesBuffer {
	b, ok := t.buffers[shard][series]
	if !ok {
		if t.buffers[shard] == nil {
			t.buffers[shard] = map[varve.Series]*seriesBuffer{}
		}
		series = cloneSeries(series)
		// In a table without chunks, this series has none. So its last event time in chunks is known:
		// NoTime.
		b = &seriesBuffer{
			Source: memtable.Source{Table: t.number, Series: series}, table: t, shard: shard, changes: m.db.readings.Counter(series),
			maxFlushed: memtable.NoTime, flushedKnown: !m.db.ledger.hasChunks(t), epoch: m.epoch.Load(),
		}
		t.buffers[shard][series] = b
		if !t.dropped { // the buffers of a dropped table are no longer counted
			m.bufferCount.Add(1)
		}
	}
	return b
}

// idleLimit returns the number of series buffers above which idle ones are evicted.
func (m *memory) idleLimit() int64 {
	return max(m.db.opts.MemtableBytes/(4*memtable.BufferBytes), 1000)
}

// hasTooManyIdle reports whether idle series buffers should be evicted immediately.
func (m *memory) hasTooManyIdle() bool {
	return m.bufferCount.Load() > m.filledCount.Load()+2*m.idleLimit()
}

// requestEviction signals the flushing goroutine if too many series buffers are idle.
func (m *memory) requestEviction() {
	if !m.hasTooManyIdle() {
		return
	}
	select {
	case m.evictions <- struct{}{}:
	default:
	}
}

// evictAtOnce is the maximum number of series buffers that are examined before their shard is unlocked.
const evictAtOnce = 5000

// evictIdle evicts idle series buffers while more than idleLimit buffers are in memory.
func (m *memory) evictIdle() {
	m.mu.RLock()
	tables := slices.Clone(m.tables.sorted)
	m.mu.RUnlock()
	for _, t := range tables {
		for shard := range m.mu.shards {
			for m.evictSome(t, shard) {
			}
		}
	}
}

// evictSome evicts some idle buffers of a table in a shard. It reports whether more may have to be
// evicted.
func (m *memory) evictSome(t *table, shard int) bool {
	s := &m.mu.shards[shard]
	s.Lock()
	defer s.Unlock()
	if t.dropped {
		return false
	}
	examined, evicted := 0, 0
	for series, b := range t.buffers[shard] {
		if m.bufferCount.Load() <= m.idleLimit() || examined == evictAtOnce {
			break
		}
		examined++
		if b.rows[0].Len() == 0 && b.rows[1].Len() == 0 {
			delete(t.buffers[shard], series)
			b.evicted = true
			m.bufferCount.Add(-1)
			evicted++
		}
	}
	return m.bufferCount.Load() > m.idleLimit() && evicted > 0
}

// appendEntries adds readings after all others of a series buffer, where "bodies" has their bodies, one
// after another. The caller has locked the shard.
func (m *memory) appendEntries(b *seriesBuffer, rows []memtable.Entry, shape uint32, bodies []byte) {
	m.countEntries(b, len(rows), len(bodies))
	m.mutable.Shards[b.shard].Append(&b.rows[m.mutable.Parity], rows, shape, bodies)
}

// insertEntry adds a reading at a spot of a series buffer. The caller has locked the shard.
func (m *memory) insertEntry(b *seriesBuffer, at memtable.Spot, e memtable.Entry, shape uint32, body []byte) {
	m.countEntries(b, 1, len(body))
	m.mutable.Shards[b.shard].Insert(&b.rows[m.mutable.Parity], at, e, shape, body)
}

// countEntries counts n readings that are about to be added to a series buffer. Their bodies have
// "body" bytes in total.
func (m *memory) countEntries(b *seriesBuffer, n, body int) {
	mt := m.mutable
	bytes := memtable.Size(n, body)
	if b.rows[mt.Parity].Len() == 0 {
		filled := &m.mu.shards[b.shard].filled[mt.Parity]
		*filled = append(*filled, b)
		m.filledCount.Add(1)
		bytes += memtable.BufferBytes
	}
	mt.Shards[b.shard].Count(n, bytes)
	count := &b.table.memtables[mt.Parity]
	count.readings.Add(int64(n))
	count.bytes.Add(bytes)
}

// view returns a view of rows of a series buffer. The caller has locked the shard.
func (b *seriesBuffer) view(m *memtable.Memtable, rows []memtable.Row) *memtable.View {
	return m.Shards[b.shard].Content.View(b.Series, b.table.base(), rows)
}

// table returns a table by its name. The caller has locked mu or a shard.
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

// waitForRoom waits for a flush while the mutable memtable is too large. If the last flush failed, it fails
// instead. The limit is higher for small writes, so that they do not wait because of large ones.
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
// locked the shard of the series.
func (m *memory) bufferOf(l *store.Latest, shard int) *seriesBuffer {
	tb, err := m.table(l.Table)
	if err != nil {
		return nil
	}
	return tb.buffers[shard][l.Series]
}

// epochOf returns the current flush epoch of a series. It is an argument of cacheNewest.
func (m *memory) epochOf(l *store.Latest) uint64 {
	shard, s := m.mu.shardOf(l.Series)
	s.RLock()
	defer s.RUnlock()
	if b := m.bufferOf(l, shard); b != nil {
		return b.epoch
	}
	return m.epoch.Load() // the epoch of a new series buffer
}

// cacheNewest caches the latest reading of a series from chunks, unless these chunks have changed
// since the given flush epoch.
func (m *memory) cacheNewest(r *varve.Reading, l *store.Latest, epoch uint64) {
	shard, s := m.mu.shardOf(l.Series)
	s.Lock()
	defer s.Unlock()
	tb, err := m.table(l.Table)
	if err != nil {
		return
	}
	if b := m.makeBuffer(tb, shard, l.Series); b.epoch == epoch {
		kept := r.Clone()
		b.newest, b.newestEpoch = &kept, epoch
	}
	m.requestEviction()
}

// loadMaxFlushed sets maxFlushed and level0 of a series buffer if they are unknown. It sets nothing
// if the flush epoch of the buffer has changed since the caller read it.
func (m *memory) loadMaxFlushed(cr *chunkReader, b *seriesBuffer, epoch uint64) error {
	s := &m.mu.shards[b.shard]
	s.RLock()
	known := b.flushedKnown
	s.RUnlock()
	if known {
		return nil
	}
	maxTime, level0Chunks, err := cr.readMaxFlushed()
	if err != nil {
		return err
	}
	s.Lock()
	defer s.Unlock()
	if !b.flushedKnown && b.epoch == epoch {
		b.flushedKnown, b.maxFlushed, b.level0 = true, maxTime, level0Chunks
	}
	return nil
}
