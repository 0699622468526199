package local

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"syscall"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/local/journal"
)

// Write implements store.Writer.
func (s *Store) Write(ctx context.Context, batches []store.Batch) []store.Result {
	results := make([]store.Result, len(batches))
	if err := s.write(ctx, batches, results); err != nil {
		for i := range results {
			if results[i].Err == nil {
				results[i] = store.Result{Err: err}
			}
		}
	}
	return results
}

func (s *Store) write(ctx context.Context, batches []store.Batch, results []store.Result) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.leave()
	if err := s.space.check(); err != nil {
		return err
	}
	w := writers.Get().(*writer)
	defer w.release()
	w.begin(s, batches, results)
	if w.small() {
		s.lanes.Small()
	}
	commit, err := w.place(ctx)
	if err != nil {
		return err
	}
	if commit == nil {
		return nil
	}
	if err := commit.Wait(ctx); err != nil {
		return s.unavailable(err)
	}
	return nil
}

// unavailable marks an error as temporary, so that clients retry. It records a full disk.
func (s *Store) unavailable(err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, journal.ErrClosed) {
		return err
	}
	if errors.Is(err, syscall.ENOSPC) {
		s.space.foundFull()
	}
	return &varve.Error{Failure: varve.Unavailable, Message: "not stored for now", RetryAfter: time.Second, Err: err}
}

// writer holds the state of one Write. Its buffers are reused.
type writer struct {
	s       *Store
	batches []store.Batch
	results []store.Result
	entries []entry
	rest    []entry         // entries that are not inserted yet
	last    *journal.Commit // of the entries that are, or nil
	bodies  []byte
	late    []*entry
	met     []*entry // entries with seen set
	record  record
}

// entry is one reading of a write.
type entry struct {
	reading *varve.Reading
	verdict *varve.Verdict
	table   *table
	tail    *tail
	from    uint32 // offset of its body in writer.bodies
	to      uint32
	cleared uint64        // value of tail.cleared at the lookup in chunks
	asked   bool          // it was looked up in chunks
	ownID   bool          // its id differs from its content id
	inChunk varve.Verdict // its verdict if chunks hold it or are damaged
	seen    *view         // the stored row of the same id in the tail, for an own id
}

var writers = sync.Pool{New: func() any { return new(writer) }}

func (w *writer) release() {
	clear(w.entries)
	clear(w.late)
	clear(w.met)
	*w = writer{entries: w.entries[:0], bodies: w.bodies[:0], late: w.late[:0], met: w.met[:0], record: w.record}
	if cap(w.bodies) <= 4<<20 {
		writers.Put(w)
	}
}

// smallReadings is the maximum number of readings of a small write.
const smallReadings = 64

// small reports whether bulk work should make way for this write.
func (w *writer) small() bool { return len(w.entries) <= smallReadings }

// begin encodes the readings of batches whose tables exist.
func (w *writer) begin(s *Store, batches []store.Batch, results []store.Result) {
	w.s, w.batches, w.results = s, batches, results
	for i := range batches {
		b := &batches[i]
		s.mu.RLock()
		tb, err := s.table(b.Table)
		s.mu.RUnlock()
		if err != nil {
			results[i].Err = err
			continue
		}
		verdicts := make([]varve.Verdict, len(b.Readings))
		results[i].Verdicts = verdicts
		for j := range b.Readings {
			r := &b.Readings[j]
			from := len(w.bodies)
			w.bodies = appendBody(w.bodies, r, tb.base())
			w.entries = append(w.entries, entry{
				reading: r, verdict: &verdicts[j], table: tb, ownID: w.bodies[from] != idDerived,
				from: uint32(from), to: uint32(len(w.bodies)),
			})
		}
	}
	w.rest = w.entries
}

// place adds new readings to their tails and to the journal. It returns the commit that makes
// the verdicts valid, or nil if they are valid already.
func (w *writer) place(ctx context.Context) (*journal.Commit, error) {
	for {
		if err := w.s.waitForRoom(ctx, w.small()); err != nil {
			return nil, err
		}
		if err := w.findTails(); err != nil {
			return nil, err
		}
		done, err := w.insert()
		if err != nil {
			return nil, err
		}
		if done {
			return w.last, w.compareMet()
		}
	}
}

// findTails finds the tails of the readings, and looks up late readings in chunks. This step may
// read from disk, so it runs without the lock.
func (w *writer) findTails() error {
	if w.lookUpTails() > 0 {
		w.makeTails()
	}
	w.collectLate()
	if len(w.late) == 0 {
		return nil
	}
	return w.askChunks()
}

// lookUpTails finds existing tails and counts missing ones.
func (w *writer) lookUpTails() (missing int) {
	w.s.mu.RLock()
	defer w.s.mu.RUnlock()
	for i := range w.rest {
		e := &w.rest[i]
		if e.tail == nil || e.tail.gone {
			e.tail = e.table.tails[e.reading.Series]
		}
		if e.tail == nil {
			missing++
		}
	}
	return missing
}

func (w *writer) makeTails() {
	w.s.mu.Lock()
	defer w.s.mu.Unlock()
	for i := range w.rest {
		if e := &w.rest[i]; e.tail == nil || e.tail.gone {
			e.tail = w.s.makeTail(e.table, e.reading.Series)
		}
	}
	if w.s.crowded() { // duplicates create tails that are never flushed
		select {
		case w.s.crowd <- struct{}{}:
		default:
		}
	}
}

// collectLate collects the readings that must be looked up in chunks.
func (w *writer) collectLate() {
	w.s.mu.RLock()
	defer w.s.mu.RUnlock()
	w.late = w.late[:0]
	for i := range w.rest {
		if e := &w.rest[i]; !e.settled() {
			e.cleared = e.tail.cleared
			w.late = append(w.late, e)
		}
	}
}

// settled reports whether it is known if chunks hold the reading. The caller holds the lock.
func (e *entry) settled() bool {
	if e.tail.gone {
		return false
	}
	if e.tail.known && e.reading.Time.UnixNano() > e.tail.edge {
		return true
	}
	return e.asked && e.cleared == e.tail.cleared
}

// holdReadings is how many readings are inserted in one hold of the store's lock,
// so that a small write does not wait for a large one.
const holdReadings = 512

// insert puts the rest of the readings into tails and journal, a few in each hold
// of the lock. Frames become durable in order, so the last commit covers all.
// It is not done if the answer of the chunks for a reading is out of date.
func (w *writer) insert() (done bool, err error) {
	for len(w.rest) > 0 {
		some := w.rest[:min(len(w.rest), holdReadings)]
		commit, done, err := w.insertSome(some)
		if !done || err != nil {
			return false, err
		}
		if commit != nil {
			w.last = commit
		}
		w.rest = w.rest[len(some):]
	}
	w.s.mu.RLock()
	defer w.s.mu.RUnlock()
	w.markDropped()
	return true, nil
}

// insertSome inserts readings in one hold of the lock.
func (w *writer) insertSome(entries []entry) (commit *journal.Commit, done bool, err error) {
	s := w.s
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range entries {
		if e := &entries[i]; !e.settled() && !e.table.dropped {
			return nil, false, nil
		}
	}
	if err := s.journal.Ready(); err != nil {
		return nil, false, s.unavailable(err)
	}
	s.records++
	w.record.begin(s.records)
	waits := false
	for i := range entries {
		e := &entries[i]
		switch {
		case e.table.dropped:
			// Its batch is marked at the end.
		case e.inChunk.Outcome != 0:
			*e.verdict = e.inChunk
		case s.insert(e, w.bodies[e.from:e.to], &w.record):
			e.verdict.Outcome = varve.Stored
		default:
			e.verdict.Outcome = varve.Duplicate
			waits = true
			if e.seen != nil {
				w.met = append(w.met, e)
			}
		}
	}
	if s.active.bytes >= s.opts.TailBytes {
		s.wake()
	}
	switch {
	case w.record.rows > 0:
		return s.journal.Append(journal.Readings, w.record.payload()), true, nil
	case waits:
		// The stored reading of a duplicate may not be durable yet.
		return s.journal.Pending(), true, nil
	}
	return nil, true, nil
}

// insert adds a reading to its tail and to the record. It returns false if the tail holds it
// already.
func (s *Store) insert(e *entry, body []byte, rec *record) bool {
	t, p := e.tail, e.reading.Position()
	if at, found := t.runs[1-s.active.parity].find(p); found {
		e.meet(s.frozen, at)
		return false
	}
	at, found := t.runs[s.active.parity].find(p)
	if found {
		e.meet(s.active, at)
		return false
	}
	rec.shape = s.active.shape(e.reading.Fields, rec.shape)
	s.active.add(t, at, row{time: p.Time, hash: hashOf(p.ID), shape: rec.shape}, body)
	rec.add(t, p.Time, s.active.shapes, body)
	return true
}

// markDropped sets the error of batches whose table was dropped meanwhile.
func (w *writer) markDropped() {
	for i := range w.batches {
		if w.results[i].Err != nil {
			continue
		}
		if _, err := w.s.table(w.batches[i].Table); err != nil {
			w.results[i] = store.Result{Err: err}
		}
	}
}

// waitForRoom waits for a flush while the memtables are too large. Small writes have some more
// room, so that they do not wait when large ones fill the memtables.
func (s *Store) waitForRoom(ctx context.Context, small bool) error {
	limit := 2 * s.opts.TailBytes
	if small {
		limit += s.opts.TailBytes / 4
	}
	for {
		s.mu.RLock()
		full, failed, room := s.active.bytes >= limit, s.flushErr, s.room
		s.mu.RUnlock()
		if !full {
			return nil
		}
		if failed != nil {
			return s.unavailable(fmt.Errorf("readings cannot be turned into chunks: %w", failed))
		}
		s.wake()
		select {
		case <-room:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// wake signals the flushing goroutine.
func (s *Store) wake() {
	select {
	case s.work <- struct{}{}:
	default:
	}
}
