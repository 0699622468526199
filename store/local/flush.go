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
	"github.com/varvedb/varve/store/local/chunk"
	"github.com/varvedb/varve/store/local/memtable"
)

// Bounds of the delay before a failed flush is retried. The delay doubles with each failure.
const (
	firstRetry = time.Second
	lastRetry  = 30 * time.Second
)

// flushLoop flushes memtables that are full, and compacts tables that are no longer written to.
func (s *Store) flushLoop() {
	retry := time.NewTimer(0)
	<-retry.C
	pause := time.Duration(0) // delay before the next attempt; 0 after a success
	for {
		tried, err := false, error(nil)
		select {
		case <-s.background.Done():
			return
		case <-s.flushes:
			if pause == 0 { // otherwise the timer retries, because every write requests a flush
				tried, err = true, s.flushIfFull()
			}
		case <-retry.C:
			tried, err = true, s.flushIfFull()
		case <-s.evictions:
			s.evictIdle()
		case t := <-s.coldTables:
			if err := s.compactTable(s.background, t); err != nil && s.background.Err() == nil {
				s.opts.Events.Failed("compact table "+t.Name(), err)
			}
		}
		switch {
		case tried && err == nil:
			pause = 0
		case tried && s.background.Err() == nil:
			s.opts.Events.Failed("flush the memtable", err)
			pause = min(max(firstRetry, 2*pause), lastRetry)
			retry.Reset(pause)
		}
	}
}

func (s *Store) flushIfFull() error {
	s.mu.RLock()
	due := s.mutable.Bytes >= s.opts.MemtableBytes || s.immutable != nil
	s.mu.RUnlock()
	if !due && s.journal.Size() < s.opts.JournalBytes {
		return nil
	}
	return s.flush(s.background)
}

// flush flushes all memtables: the immutable one of a failed flush, and then the mutable one. Only
// one goroutine may flush at a time.
func (s *Store) flush(ctx context.Context) error {
	err := s.flushImmutable(ctx)
	if err == nil {
		err = s.rotate()
	}
	if err == nil {
		err = s.flushImmutable(ctx)
	}
	s.mu.Lock()
	s.flushErr = err
	s.mu.Unlock()
	return err
}

// rotate makes the mutable memtable immutable and begins a new segment, unless the current
// segment is empty. No change is between its append and its application at that time.
func (s *Store) rotate() error {
	if s.journal.Size() == 0 {
		return nil
	}
	if err := s.journal.Prepare(); err != nil {
		return err
	}
	s.changes.barrier.Lock()
	defer s.changes.barrier.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.immutable = s.mutable
	s.immutable.Segment = s.journal.Rotate()
	s.mutable = memtable.New(1 - s.immutable.Parity)
	return nil
}

// flushedBuffer is the result of a flush for one series buffer.
type flushedBuffer struct {
	buffer *seriesBuffer
	last   int64 // event time
	level0 int   // number of chunks of level 0
	bytes  int64
}

// flushImmutable converts the immutable memtable, if one exists, into chunks.
func (s *Store) flushImmutable(ctx context.Context) (err error) {
	begin := time.Now()
	mt := s.immutable
	if mt == nil {
		return nil
	}
	batch := s.db.NewBatch()
	defer func() { err = closing(err, batch) }()
	done, err := s.encodeBuffers(ctx, mt, batch)
	if err != nil {
		return err
	}
	bytes := int64(batch.Len())
	// Readers see chunks before these are durable. So the readings must be durable in the
	// journal first, because a duplicate is acknowledged at once.
	if s.journal != nil { // nil while the store is opened
		if err := s.journal.Sync(ctx); err != nil {
			return err
		}
	}
	if err := s.commitFlush(mt, done, batch); err != nil {
		return err
	}
	s.releaseImmutable(mt, done)
	if err := s.makeDurable(ctx); err != nil {
		return err
	}
	if s.journal != nil {
		if err := s.journal.Remove(mt.Segment); err != nil {
			return err
		}
	}
	if mt.Readings > 0 {
		s.opts.Events.Flushed(mt.Readings, bytes, time.Since(begin))
	}
	if err := s.compactBuffers(ctx, done); err != nil {
		return err
	}
	s.evictIdle()
	return nil
}

// encodeBuffers encodes the rows of an immutable memtable into a batch.
func (s *Store) encodeBuffers(ctx context.Context, mt *memtable.Memtable, batch *pebble.Batch) ([]flushedBuffer, error) {
	buffers := s.filled[mt.Parity]
	slices.SortFunc(buffers, func(a, b *seriesBuffer) int {
		if c := a.table.Table.Compare(b.table.Table); c != 0 {
			return c
		}
		return a.Series.Compare(b.Series)
	})
	cw := newChunkWriter(s, batch)
	done := make([]flushedBuffer, 0, len(buffers))
	for _, b := range buffers {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		m, err := s.encodeBuffer(&cw, mt, b)
		if err != nil {
			return nil, fmt.Errorf("%s in %s: %w", b.Series, b.table.Table, err)
		}
		done = append(done, m)
	}
	return done, nil
}

func (s *Store) encodeBuffer(cw *chunkWriter, mt *memtable.Memtable, b *seriesBuffer) (flushedBuffer, error) {
	s.mu.RLock()
	v := b.view(mt, b.rows[mt.Parity].All())
	n := v.Len()
	// A chunk below a quarter of the target is not worth a merge.
	isLevel1 := b.flushedKnown && n >= s.opts.ChunkReadings/4 && v.Time(0) > b.maxFlushed
	s.mu.RUnlock()
	level := byte(level0)
	if isLevel1 {
		level = level1
	}
	before := cw.bytes
	// Chunks of equal size, without a smaller one at the end.
	pieces := (n + s.opts.ChunkReadings - 1) / s.opts.ChunkReadings
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

// commitFlush applies the chunks with the number of the segment that they cover, after the
// changes of that segment.
func (s *Store) commitFlush(mt *memtable.Memtable, done []flushedBuffer, batch *pebble.Batch) error {
	s.catalog.Lock()
	defer s.catalog.Unlock()
	if err := s.applyDurable(); err != nil {
		return err
	}
	stats := s.statsAfter(mt, done)
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
	if err := errors.Join(batch.Set(keyFlushed, flushed, nil), putNextChunk(batch, s.nextChunk.Load())); err != nil {
		return err
	}
	if err := s.apply(batch); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for t, st := range stats {
		t.stats = st
		t.memtables[mt.Parity] = memtableCount{}
	}
	return nil
}

// statsAfter returns the statistics of the tables after the flush of a memtable. The caller
// holds the lock of the catalog.
func (s *Store) statsAfter(mt *memtable.Memtable, done []flushedBuffer) map[*table]tableStats {
	s.mu.RLock()
	defer s.mu.RUnlock()
	stats := map[*table]tableStats{}
	for _, m := range done {
		t := m.buffer.table
		st, ok := stats[t]
		if !ok {
			st = t.stats
			st.readings += t.memtables[mt.Parity].readings
		}
		st.bytes += m.bytes
		stats[t] = st
	}
	return stats
}

// makeDurable waits until everything that was applied to Pebble is in its tables.
func (s *Store) makeDurable(ctx context.Context) error {
	flushed, err := s.db.AsyncFlush()
	if err != nil {
		return err
	}
	select {
	case <-flushed:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// releaseAtOnce is the number of series buffers that are released under one lock.
const releaseAtOnce = 1000

// releaseImmutable removes the flushed rows from the series buffers.
func (s *Store) releaseImmutable(mt *memtable.Memtable, done []flushedBuffer) {
	for len(done) > 0 {
		n := min(len(done), releaseAtOnce)
		s.mu.Lock()
		for _, m := range done[:n] {
			b := m.buffer
			b.rows[mt.Parity] = memtable.Rows{}
			s.epoch++
			b.epoch = s.epoch
			if b.flushedKnown {
				b.maxFlushed = max(b.maxFlushed, m.last)
				b.level0 += m.level0
			}
		}
		s.mu.Unlock()
		done = done[n:]
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.immutable = nil
	s.filled[mt.Parity] = nil
	close(s.room)
	s.room = make(chan struct{})
}
