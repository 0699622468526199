package local

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store/local/chunk"
	"github.com/varvedb/varve/store/local/journal"
)

// retryFlush is how long a failed flush waits before it is tried again.
const retryFlush = 5 * time.Second

// flushLoop turns tails into chunks when they have grown large, and packs
// tables that are not written to any more.
func (s *Store) flushLoop() {
	retry := time.NewTimer(0)
	<-retry.C
	for {
		var err error
		select {
		case <-s.background.Done():
			return
		case <-s.work:
			err = s.flushIfFull()
		case <-retry.C:
			err = s.flushIfFull()
		case <-s.crowd:
			s.forgetTails()
		case t := <-s.cold:
			if err := s.pack(s.background, t); err != nil && s.background.Err() == nil {
				s.opts.Events.Failed("pack "+t.Name(), err)
			}
		}
		if err != nil && s.background.Err() == nil {
			s.opts.Events.Failed("turn readings into chunks", err)
			retry.Reset(retryFlush)
		}
	}
}

func (s *Store) flushIfFull() error {
	s.mu.RLock()
	due := s.active.bytes >= s.opts.TailBytes || s.frozen != nil
	s.mu.RUnlock()
	if !due {
		return nil
	}
	return s.flush(s.background)
}

// flush turns all tails into chunks: those that an earlier flush failed to, and
// then the active ones. Only one goroutine may flush at a time.
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

// freeze makes the active head the frozen one, if there is anything in it, and
// begins a new segment of the journal.
func (s *Store) freeze() error {
	s.mu.RLock()
	empty := s.active.readings == 0
	s.mu.RUnlock()
	if empty {
		return nil
	}
	if err := s.journal.Prepare(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.frozen = s.active
	s.frozen.segment = s.journal.Rotate()
	s.active = newHead(1 - s.frozen.parity)
	return nil
}

// made is what a flush made of one tail.
type made struct {
	tail   *tail
	last   int64 // event time
	smalls int   // chunks of level 0
	bytes  int64
}

// flushFrozen turns the frozen head, if there is one, into chunks.
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
	// What is in chunks is seen before they are durable. So it must be durable
	// in the journal by then: a duplicate of it is answered at once.
	if s.journal != nil { // while the store is opened, there is none
		if err := s.journal.Sync(ctx); err != nil {
			return err
		}
	}
	if err := s.commitFlush(h, done, batch); err != nil {
		return err
	}
	s.thaw(h, done)
	if err := journal.Remove(s.opts.FS, s.folder.path("journal"), h.segment); err != nil {
		return err
	}
	s.opts.Events.Flushed(h.readings, bytes, time.Since(begin))
	if err := s.mergeTails(ctx, done); err != nil {
		return err
	}
	s.forgetTails()
	return nil
}

// build encodes the runs of a frozen head, which nobody changes any more, into
// a batch.
func (s *Store) build(ctx context.Context, h *head, batch *pebble.Batch) ([]made, error) {
	slices.SortFunc(h.tails, func(a, b *tail) int {
		if c := a.table.Table.Compare(b.table.Table); c != 0 {
			return c
		}
		return a.series.Compare(b.series)
	})
	c := cutter{s: s, batch: batch}
	done := make([]made, 0, len(h.tails))
	for _, t := range h.tails {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		m, err := s.buildTail(&c, h, t)
		if err != nil {
			return nil, fmt.Errorf("%s in %s: %w", t.series, t.table.Table, err)
		}
		done = append(done, m)
	}
	return done, nil
}

func (s *Store) buildTail(c *cutter, h *head, t *tail) (made, error) {
	s.mu.RLock()
	frozen := &t.runs[h.parity]
	v := view{series: t.series, base: t.table.base(), shapes: h.shapes, rows: frozen.first(frozen.n, spot{}, frozen.end()), data: frozen.data}
	n := v.Len()
	// A quarter of a chunk is not worth merging.
	main := t.known && n >= s.opts.ChunkReadings/4 && v.Time(0) > t.edge
	s.mu.RUnlock()
	level := byte(levelSmall)
	if main {
		level = levelMain
	}
	before := c.bytes
	// Chunks of one size rather than a small one at the end.
	pieces := (n + s.opts.ChunkReadings - 1) / s.opts.ChunkReadings
	c.begin(appendSeriesSpace(nil, t.table.number, t.series), level, (n+pieces-1)/pieces)
	var r varve.Reading
	var arena chunk.Arena
	for i := range n {
		if err := v.Fill(i, &r, &arena); err != nil {
			return made{}, err
		}
		if err := c.add(&r); err != nil {
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

// commitFlush commits the chunks together with the number of the segment that
// they hold.
func (s *Store) commitFlush(h *head, done []made, batch *pebble.Batch) error {
	s.catalog.Lock()
	defer s.catalog.Unlock()
	records := s.recordsAfter(h, done)
	for t, record := range records {
		if t.dropped {
			space := chunkSpace(t.number)
			if err := batch.DeleteRange(space, after(space), nil); err != nil {
				return err
			}
			continue
		}
		if err := record.put(batch, t.Table); err != nil {
			return err
		}
	}
	if err := batch.Set(keyFlushed, binary.BigEndian.AppendUint64(nil, h.segment), nil); err != nil {
		return err
	}
	if err := s.commit(batch); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for t, record := range records {
		t.record = record
		t.heads[h.parity] = headCount{}
	}
	return nil
}

// recordsAfter returns the records of the tables of a head as they will be
// when it is in chunks. The catalog is locked.
func (s *Store) recordsAfter(h *head, done []made) map[*table]tableRecord {
	s.mu.RLock()
	defer s.mu.RUnlock()
	records := map[*table]tableRecord{}
	for _, m := range done {
		t := m.tail.table
		record, ok := records[t]
		if !ok {
			record = t.record
			record.Readings += t.heads[h.parity].readings
		}
		record.Bytes += m.bytes
		records[t] = record
	}
	return records
}

// commit commits a batch that made chunks or a table, durably. The catalog is
// locked.
func (s *Store) commit(batch *pebble.Batch) error {
	next := counters{table: s.nextTable, chunk: s.nextChunk.Load()}
	if err := batch.Set(keyNext, next.encode(), nil); err != nil {
		return err
	}
	return batch.Commit(pebble.Sync)
}

// thawAtOnce is how many tails are cleared under one lock.
const thawAtOnce = 1000

// thaw clears the runs that have become chunks.
func (s *Store) thaw(h *head, done []made) {
	for len(done) > 0 {
		n := min(len(done), thawAtOnce)
		s.mu.Lock()
		for _, m := range done[:n] {
			t := m.tail
			t.runs[h.parity] = run{}
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
	close(s.room)
	s.room = make(chan struct{})
}
