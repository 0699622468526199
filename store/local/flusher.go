package local

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/local/chunk"
	"github.com/varvedb/varve/store/local/memtable"
)

// Write looks up the series buffer of each reading. It searches the buffer for the same identity,
// and the chunks unless the event time is after the max flushed time of the series. Then it adds
// the reading to the journal and to the buffer, and waits until the journal is durable.
//
// When the memtable reaches Options.MemtableBytes, it becomes immutable, and the journal begins a
// new segment. A flush encodes each series buffer into chunks. One Pebble batch contains the chunks
// and f, the last segment that they cover. When that batch is in Pebble's files, the segments up to
// f are removed. Open replays only the segments after f. So after a crash, a reading comes from
// either the journal or a chunk, not from both. If the chain still lists segment f, and all
// segments are readable, Open replays all of them, and skips the readings that chunks have.

// Bounds of the delay before a failed flush is retried. The delay doubles with each failure.
const (
	firstRetry = time.Second
	lastRetry  = 30 * time.Second
)

// flusher converts memtables into chunks.
type flusher struct {
	db        *database
	mem       *memory
	catalog   *catalog
	compactor *compactor
	// exclusive receives work that must not run beside a flush.
	exclusive  chan func()
	flushed    uint64 // last segment that was flushed
	removalDue bool   // whether the journal may still have this segment
}

// loop flushes full memtables, evicts idle series buffers, and compacts tables that became cold.
// Between two series of a cold table, it does other work that is due.
func (f *flusher) loop() {
	retry := time.NewTimer(0)
	<-retry.C
	pause := time.Duration(0) // delay before the next attempt; 0 after a success
	var cold coldTable
	ready := make(chan struct{})
	close(ready)
	for {
		tables, series := f.compactor.coldTables, (chan struct{})(nil)
		if len(cold.series) > 0 {
			tables, series = nil, ready
		}
		tried, err := false, error(nil)
		var merged error
		select {
		case <-f.db.life.background.Done():
			return
		case <-f.mem.flushes:
			if pause == 0 { // after a failure, only the timer retries, because every write requests a flush
				tried, err = true, f.flushIfFull()
			}
		case <-retry.C:
			tried, err = true, f.flushIfFull()
		case work := <-f.exclusive:
			work()
		case <-f.mem.evictions:
			f.mem.evictIdle()
		case t := <-tables:
			cold, merged = f.compactor.beginTable(t)
		case <-series:
			merged = f.compactor.compactNext(f.db.life.background, &cold)
		}
		if f.db.life.background.Err() != nil {
			continue
		}
		if merged != nil {
			f.db.opts.Events.Failed("compact a cold table", merged)
		}
		switch {
		case tried && err == nil:
			pause = 0
		case tried:
			f.db.opts.Events.Failed("flush the memtable", err)
			pause = min(max(firstRetry, 2*pause), lastRetry)
			retry.Reset(pause)
		}
	}
}

// runExclusive calls a function in the goroutine of the loop, while no other flush runs. After the function
// has begun, runExclusive waits for its end, even if ctx ends.
func (f *flusher) runExclusive(ctx context.Context, do func() error) error {
	done := make(chan error, 1)
	select {
	case f.exclusive <- func() { done <- do() }:
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-f.db.life.background.Done():
		return store.ErrClosed
	}
	return <-done
}

func (f *flusher) flushIfFull() error {
	f.mem.mu.RLock()
	due := f.removalDue || f.mem.mutable.IsFull(f.db.opts.MemtableBytes) || f.mem.immutable != nil
	f.mem.mu.RUnlock()
	if !due && f.db.journal.Size() < f.db.opts.JournalBytes {
		return nil
	}
	return f.flush(f.db.life.background)
}

// flush flushes all memtables: the immutable one of a failed flush, and then the mutable one. Only
// one goroutine may flush at a time.
func (f *flusher) flush(ctx context.Context) error {
	err := f.removeFlushed(ctx)
	if err == nil {
		err = f.flushImmutable(ctx)
	}
	if err == nil {
		err = f.rotate()
	}
	if err == nil {
		err = f.flushImmutable(ctx)
	}
	f.mem.mu.Lock()
	defer f.mem.mu.Unlock()
	if f.mem.flushErr = err; err != nil {
		f.mem.wakeWriters() // the waiting writers fail
	}
	return err
}

// rotate makes the mutable memtable immutable and begins a new segment, unless the current segment
// is empty. The barrier ensures that each appended change is then either applied or in the list
// changeLog.unapplied.
func (f *flusher) rotate() error {
	if f.db.journal.Size() == 0 {
		return nil
	}
	if err := f.db.journal.Prepare(); err != nil {
		return err
	}
	f.catalog.changes.barrier.Lock()
	defer f.catalog.changes.barrier.Unlock()
	f.mem.mu.Lock()
	defer f.mem.mu.Unlock()
	f.mem.immutable = f.mem.mutable
	f.mem.immutable.Segment = f.db.journal.Rotate()
	f.mem.mutable = memtable.New(1-f.mem.immutable.Parity, len(f.mem.mu.shards), f.db.opts.columnCache())
	return nil
}

// flushedBuffer is the result of a flush for one series buffer.
type flushedBuffer struct {
	buffer *seriesBuffer
	last   int64 // last event time of the flushed rows
	level0 int   // number of new chunks of level 0
	bytes  int64 // size of the keys and contents of the new chunks
}

func (f *flusher) flushImmutable(ctx context.Context) (err error) {
	begin := time.Now()
	mt := f.mem.immutable
	if mt == nil {
		return nil
	}
	batch := f.db.NewBatch()
	defer func() { err = closing(err, batch) }()
	done, err := f.encodeBuffers(ctx, mt, batch)
	if err != nil {
		return err
	}
	bytes := int64(batch.Len())
	// Readers see chunks before these are durable. So the readings must be durable in the journal
	// first, because a duplicate of a reading in a chunk is acknowledged immediately.
	if f.db.journal != nil { // nil until Open has replayed the journal
		if err := f.db.journal.Sync(ctx); err != nil {
			return err
		}
	}
	if err := f.commit(mt, done, batch); err != nil {
		return err
	}
	f.releaseImmutable(mt, done)
	f.flushed, f.removalDue = mt.Segment, true
	if err := f.removeFlushed(ctx); err != nil {
		return err
	}
	if n := mt.Readings(); n > 0 {
		f.db.opts.Events.Flushed(n, bytes, time.Since(begin))
	}
	if err := f.compactor.compactBuffers(ctx, done); err != nil {
		return err
	}
	f.mem.evictIdle()
	return nil
}

// removeFlushed removes the flushed segments of the journal, as soon as Pebble has their readings
// durably. A failed removal is retried by the next flush, and before an erasure, because a replay of
// the segments would return erased readings.
func (f *flusher) removeFlushed(ctx context.Context) error {
	if !f.removalDue {
		return nil
	}
	if err := f.db.makeDurable(ctx); err != nil {
		return err
	}
	if f.db.journal != nil { // nil until Open has replayed the journal, which removes them then
		if err := f.db.journal.Remove(f.flushed); err != nil {
			return err
		}
	}
	f.removalDue = false
	return nil
}

func (f *flusher) encodeBuffers(ctx context.Context, mt *memtable.Memtable, batch *pebble.Batch) ([]flushedBuffer, error) {
	var buffers []*seriesBuffer
	for i := range f.mem.mu.shards { // without their locks, because writes no longer change these lists
		buffers = append(buffers, f.mem.mu.shards[i].filled[mt.Parity]...)
	}
	slices.SortFunc(buffers, func(a, b *seriesBuffer) int {
		if c := a.table.Table.Compare(b.table.Table); c != 0 {
			return c
		}
		return a.Series.Compare(b.Series)
	})
	cw := newChunkWriter(f.catalog, batch)
	done := make([]flushedBuffer, 0, len(buffers))
	for _, b := range buffers {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		m, err := f.encodeBuffer(&cw, mt, b)
		if err != nil {
			return nil, fmt.Errorf("%s in %s: %w", b.Series, b.table.Table, err)
		}
		done = append(done, m)
	}
	return done, nil
}

func (f *flusher) encodeBuffer(cw *chunkWriter, mt *memtable.Memtable, b *seriesBuffer) (flushedBuffer, error) {
	s := &f.mem.mu.shards[b.shard]
	s.RLock()
	v := b.view(mt, b.rows[mt.Parity].All())
	n := v.Len()
	// Readings go to level 1 only if they are after all chunks and fill a quarter of a chunk. So level 1
	// has disjoint chunks, and no tiny ones.
	isLevel1 := b.flushedKnown && n >= f.db.opts.ChunkReadings/4 && v.Time(0) > b.maxFlushed
	s.RUnlock()
	level := byte(level0)
	if isLevel1 {
		level = level1
	}
	before := cw.bytes
	// All chunks get about the same size, so that the last one is not much smaller.
	pieces := (n + f.db.opts.ChunkReadings - 1) / f.db.opts.ChunkReadings
	cw.begin(appendSeriesSpace(nil, b.table.number, b.Series), level, (n+pieces-1)/pieces)
	var r varve.Reading
	var arena chunk.Arena
	for i := range n {
		if i%restEvery == 0 {
			cw.pace.Rest()
		}
		if err := v.FillStored(i, &r, &arena); err != nil {
			return flushedBuffer{}, err
		}
		if err := cw.add(&r, v.Derived(i)); err != nil {
			return flushedBuffer{}, err
		}
	}
	if err := cw.endChunk(); err != nil {
		return flushedBuffer{}, err
	}
	m := flushedBuffer{buffer: b, last: v.Time(n - 1), bytes: cw.bytes - before}
	if !isLevel1 {
		m.level0 = cw.chunks
	}
	return m, nil
}

// commit applies the chunks and the number of the segment that they cover in one batch. It applies
// the changes of that segment first.
func (f *flusher) commit(mt *memtable.Memtable, done []flushedBuffer, batch *pebble.Batch) error {
	f.catalog.mu.Lock()
	defer f.catalog.mu.Unlock()
	if err := f.catalog.changes.applyDurable(); err != nil {
		return err
	}
	if f.catalog.unsaved { // an earlier change failed to save it
		if err := f.catalog.save(); err != nil {
			f.db.opts.Events.Failed("save the catalog", err)
		}
	}
	stats := f.statsAfter(mt, done)
	for t, st := range stats {
		var err error
		if t.dropped {
			space := chunkSpace(t.number)
			err = batch.DeleteRange(space, after(space), nil)
		} else {
			err = st.put(batch, t.number)
		}
		if err != nil {
			return err
		}
	}
	flushed := binary.BigEndian.AppendUint64(nil, mt.Segment)
	if err := errors.Join(batch.Set(keyFlushed, flushed, nil), putLastChunk(batch, f.catalog.lastChunk.Load())); err != nil {
		return err
	}
	if err := f.db.commit(batch); err != nil {
		return err
	}
	f.mem.mu.Lock()
	defer f.mem.mu.Unlock()
	for t, st := range stats {
		t.stats = st
		t.memtables[mt.Parity].readings.Store(0)
		t.memtables[mt.Parity].bytes.Store(0)
	}
	return nil
}

// statsAfter returns the statistics of the tables after the flush of a memtable. The caller has
// locked the catalog.
func (f *flusher) statsAfter(mt *memtable.Memtable, done []flushedBuffer) map[*table]tableStats {
	f.mem.mu.RLock()
	defer f.mem.mu.RUnlock()
	stats := map[*table]tableStats{}
	for _, m := range done {
		t := m.buffer.table
		st, ok := stats[t]
		if !ok {
			st = t.stats
			st.readings += t.memtables[mt.Parity].readings.Load()
		}
		st.bytes += m.bytes
		stats[t] = st
	}
	return stats
}

// releaseImmutable removes the flushed rows from the series buffers.
func (f *flusher) releaseImmutable(mt *memtable.Memtable, done []flushedBuffer) {
	for i := range done {
		f.mem.releaseRows(&done[i], mt.Parity)
	}
	f.mem.mu.Lock()
	defer f.mem.mu.Unlock()
	f.mem.immutable = nil
	for i := range f.mem.mu.shards {
		f.mem.mu.shards[i].filled[mt.Parity] = nil
	}
	f.mem.filledCount.Add(-int64(len(done)))
	f.mem.wakeWriters()
}

// releaseRows removes the flushed rows from a series buffer, which has them in chunks from now on.
func (m *memory) releaseRows(done *flushedBuffer, parity int) {
	b := done.buffer
	s := &m.mu.shards[b.shard]
	s.Lock()
	defer s.Unlock()
	b.rows[parity] = memtable.Rows{}
	b.epoch = m.epoch.Add(1)
	if b.flushedKnown {
		b.maxFlushed = max(b.maxFlushed, done.last)
		b.level0 += done.level0
	}
}
