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

// flushLoop flushes memtables that are full, and packs tables that are no longer written to.
func (s *Store) flushLoop() {
	retry := time.NewTimer(0)
	<-retry.C
	pause := time.Duration(0) // delay before the next attempt; 0 after a success
	for {
		tried, err := false, error(nil)
		select {
		case <-s.background.Done():
			return
		case <-s.work:
			if pause == 0 { // otherwise the timer retries, because every write requests a flush
				tried, err = true, s.flushIfFull()
			}
		case <-retry.C:
			tried, err = true, s.flushIfFull()
		case <-s.crowd:
			s.forgetTails()
		case t := <-s.cold:
			if err := s.pack(s.background, t); err != nil && s.background.Err() == nil {
				s.opts.Events.Failed("pack "+t.Name(), err)
			}
		}
		switch {
		case tried && err == nil:
			pause = 0
		case tried && s.background.Err() == nil:
			s.opts.Events.Failed("turn readings into chunks", err)
			pause = min(max(firstRetry, 2*pause), lastRetry)
			retry.Reset(pause)
		}
	}
}

func (s *Store) flushIfFull() error {
	s.mu.RLock()
	due := s.active.Bytes >= s.opts.TailBytes || s.frozen != nil
	s.mu.RUnlock()
	if !due && s.journal.Size() < s.opts.JournalBytes {
		return nil
	}
	return s.flush(s.background)
}

// flush flushes all memtables: the frozen one of a failed flush, and then the active one. Only
// one goroutine may flush at a time.
func (s *Store) flush(ctx context.Context) error {
	err := s.flushFrozen(ctx)
	if err == nil {
		err = s.freeze()
	}
	if err == nil {
		err = s.flushFrozen(ctx)
	}
	s.mu.Lock()
	s.flushErr = err
	s.mu.Unlock()
	return err
}

// freeze makes the active memtable immutable and begins a new segment, unless the current
// segment is empty. No change is between its append and its application at that time.
func (s *Store) freeze() error {
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
	s.frozen = s.active
	s.frozen.Segment = s.journal.Rotate()
	s.active = memtable.New(1 - s.frozen.Parity)
	return nil
}

// made is the result of a flush for one series buffer.
type made struct {
	tail   *tail
	last   int64 // event time
	smalls int   // number of chunks of level 0
	bytes  int64
}

// flushFrozen converts the immutable memtable, if one exists, into chunks.
func (s *Store) flushFrozen(ctx context.Context) (err error) {
	begin := time.Now()
	h := s.frozen
	if h == nil {
		return nil
	}
	batch := s.db.NewBatch()
	defer func() { err = closing(err, batch) }()
	done, err := s.build(ctx, h, batch)
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
	if err := s.commitFlush(h, done, batch); err != nil {
		return err
	}
	s.thaw(h, done)
	if err := s.makeDurable(ctx); err != nil {
		return err
	}
	if s.journal != nil {
		if err := s.journal.Remove(h.Segment); err != nil {
			return err
		}
	}
	if h.Readings > 0 {
		s.opts.Events.Flushed(h.Readings, bytes, time.Since(begin))
	}
	if err := s.mergeTails(ctx, done); err != nil {
		return err
	}
	s.forgetTails()
	return nil
}

// build encodes the rows of an immutable memtable into a batch.
func (s *Store) build(ctx context.Context, h *memtable.Memtable, batch *pebble.Batch) ([]made, error) {
	tails := s.filled[h.Parity]
	slices.SortFunc(tails, func(a, b *tail) int {
		if c := a.table.Table.Compare(b.table.Table); c != 0 {
			return c
		}
		return a.Series.Compare(b.Series)
	})
	c := newCutter(s, batch)
	done := make([]made, 0, len(tails))
	for _, t := range tails {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		m, err := s.buildTail(&c, h, t)
		if err != nil {
			return nil, fmt.Errorf("%s in %s: %w", t.Series, t.table.Table, err)
		}
		done = append(done, m)
	}
	return done, nil
}

func (s *Store) buildTail(c *cutter, h *memtable.Memtable, t *tail) (made, error) {
	s.mu.RLock()
	v := t.view(h, t.rows[h.Parity].All())
	n := v.Len()
	// A chunk below a quarter of the target is not worth a merge.
	main := t.known && n >= s.opts.ChunkReadings/4 && v.Time(0) > t.edge
	s.mu.RUnlock()
	level := byte(levelSmall)
	if main {
		level = levelMain
	}
	before := c.bytes
	// Chunks of equal size, without a small one at the end.
	pieces := (n + s.opts.ChunkReadings - 1) / s.opts.ChunkReadings
	c.begin(appendSeriesSpace(nil, t.table.number, t.Series), level, (n+pieces-1)/pieces)
	var r varve.Reading
	var arena chunk.Arena
	for i := range n {
		if i%restEvery == 0 {
			c.pace.Rest()
		}
		if err := v.FillStored(i, &r, &arena); err != nil {
			return made{}, err
		}
		if err := c.add(&r, v.Derived(i)); err != nil {
			return made{}, err
		}
	}
	if err := c.cut(); err != nil {
		return made{}, err
	}
	m := made{tail: t, last: v.Time(n - 1), bytes: c.bytes - before}
	if !main {
		m.smalls = c.chunks
	}
	return m, nil
}

// commitFlush applies the chunks with the number of the segment that they cover, after the
// changes of that segment.
func (s *Store) commitFlush(h *memtable.Memtable, done []made, batch *pebble.Batch) error {
	s.catalog.Lock()
	defer s.catalog.Unlock()
	if err := s.applyDurable(); err != nil {
		return err
	}
	stats := s.statsAfter(h, done)
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
	flushed := binary.BigEndian.AppendUint64(nil, h.Segment)
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
		t.heads[h.Parity] = headCount{}
	}
	return nil
}

// statsAfter returns the statistics of the tables after the flush of a memtable. The caller
// holds the lock of the catalog.
func (s *Store) statsAfter(h *memtable.Memtable, done []made) map[*table]tableStats {
	s.mu.RLock()
	defer s.mu.RUnlock()
	stats := map[*table]tableStats{}
	for _, m := range done {
		t := m.tail.table
		st, ok := stats[t]
		if !ok {
			st = t.stats
			st.readings += t.heads[h.Parity].readings
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

// thawAtOnce is the number of series buffers that are cleared under one lock.
const thawAtOnce = 1000

// thaw clears the rows that were flushed into chunks.
func (s *Store) thaw(h *memtable.Memtable, done []made) {
	for len(done) > 0 {
		n := min(len(done), thawAtOnce)
		s.mu.Lock()
		for _, m := range done[:n] {
			t := m.tail
			t.rows[h.Parity] = memtable.Rows{}
			s.clears++
			t.cleared = s.clears
			if t.known {
				t.edge = max(t.edge, m.last)
				t.smalls += m.smalls
			}
		}
		s.mu.Unlock()
		done = done[n:]
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.frozen = nil
	s.filled[h.Parity] = nil
	close(s.room)
	s.room = make(chan struct{})
}
