package local

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cespare/xxhash/v2"
	"github.com/cockroachdb/pebble/v2"

	"github.com/varvedb/varve/bucket"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/local/journal"
)

// Store is an embedded store. Use Open. It is safe for concurrent use.
type Store struct {
	opts    Options
	folder  *folder
	db      *pebble.DB
	journal *journal.Writer
	space   *space

	// life is held for reading by every call and for writing by Close.
	life   sync.RWMutex
	closed bool

	// catalog serializes what changes tables and chunks in Pebble.
	catalog   sync.Mutex
	nextTable uint32 // guarded by catalog
	nextChunk atomic.Uint64

	// mu guards tables, tails and heads. It is never held during I/O.
	mu       sync.RWMutex
	tables   *tables
	tails    int    // of all tables
	clears   uint64 // how often a run has become chunks
	active   *head
	frozen   *head         // becoming chunks; nil: none
	records  uint64        // journal records made
	room     chan struct{} // closed when frozen becomes nil
	flushErr error         // why the last flush failed; nil if it did not

	background context.Context
	stop       context.CancelFunc
	workers    sync.WaitGroup
	work       chan struct{} // the active head is full
	crowd      chan struct{} // there are too many tails without readings
	cold       chan bucket.Table
	reclaim    chan uint32 // numbers of dropped tables
	items      itemLocks
}

var _ store.Store = (*Store)(nil)

// Open opens the store in a folder, making it if it is not there, and reads
// its journal. It fails with a Conflict if another process has the folder.
func Open(opts Options) (*Store, error) {
	s := &Store{
		opts:   opts.withDefaults(),
		active: newHead(0),
		room:   make(chan struct{}),
		work:   make(chan struct{}, 1),
		crowd:  make(chan struct{}, 1),
		// A rotator's run tunes and drops at most a few hundred tables; beyond
		// that it waits.
		cold:    make(chan bucket.Table, 1024),
		reclaim: make(chan uint32, 1024),
	}
	s.background, s.stop = context.WithCancel(context.Background())
	if err := s.open(); err != nil {
		s.stop()
		return nil, errors.Join(err, s.release())
	}
	s.workers.Go(s.flushLoop)
	s.workers.Go(s.reclaimLoop)
	s.workers.Go(s.sweepLoop)
	return s, nil
}

func (s *Store) open() error {
	var err error
	if s.folder, err = openFolder(s.opts.FS, s.opts.Dir); err != nil {
		return err
	}
	s.space = newSpace(s.opts)
	if err = s.space.checkSpare(); err != nil {
		return err
	}
	if s.db, err = openPebble(s.folder, s.opts); err != nil {
		return fmt.Errorf("data folder %s: %w", s.opts.Dir, plain(err))
	}
	if s.tables, err = loadTables(s.db); err != nil {
		return fmt.Errorf("data folder %s: %w", s.opts.Dir, err)
	}
	next, err := loadCounters(s.db)
	if err != nil {
		return fmt.Errorf("data folder %s: %w", s.opts.Dir, err)
	}
	s.nextTable = next.table
	s.nextChunk.Store(next.chunk)
	return s.recover()
}

// recover turns what is in the journal into chunks, and begins a new segment of
// it: the last one may end in a write that was cut short, behind which nothing
// may be written.
func (s *Store) recover() error {
	begin := time.Now()
	flushed, err := s.flushedSegment()
	if err != nil {
		return err
	}
	dir := s.folder.path("journal")
	rep, err := journal.Replay(s.opts.FS, dir, flushed, s.replay)
	if err != nil {
		return fmt.Errorf("data folder %s: %w", s.opts.Dir, err)
	}
	readings := s.active.readings
	if rep.Last > flushed {
		if err := s.flushReplayed(rep.Last); err != nil {
			return fmt.Errorf("data folder %s: %w", s.opts.Dir, plain(err))
		}
		flushed = rep.Last
	}
	if err := journal.Remove(s.opts.FS, dir, flushed); err != nil {
		return err
	}
	if s.journal, err = journal.Open(s.opts.FS, dir, flushed+1); err != nil {
		return fmt.Errorf("data folder %s: %w", s.opts.Dir, plain(err))
	}
	s.opts.Events.Recovered(readings, rep.Torn, time.Since(begin))
	return nil
}

// flushReplayed turns what was read from the journal into chunks, and notes the
// last segment that it was in. Nobody else uses the store yet.
func (s *Store) flushReplayed(segment uint64) error {
	h := s.active
	h.segment = segment
	s.active, s.frozen = newHead(1-h.parity), h
	return s.flushFrozen(context.Background())
}

func (s *Store) flushedSegment() (uint64, error) {
	data, err := get(s.db, keyFlushed)
	if err != nil || data == nil {
		return 0, err
	}
	if len(data) != 8 {
		return 0, fmt.Errorf("the number of the flushed segment has %d bytes, not 8", len(data))
	}
	return binary.BigEndian.Uint64(data), nil
}

// enter begins a call; leave ends it.
func (s *Store) enter(ctx context.Context) error {
	s.life.RLock()
	if s.closed {
		s.life.RUnlock()
		return store.ErrClosed
	}
	if err := ctx.Err(); err != nil {
		s.life.RUnlock()
		return context.Cause(ctx)
	}
	return nil
}

func (s *Store) leave() { s.life.RUnlock() }

// Close waits for calls under way, turns the tails into chunks so that the next
// Open has nothing to read, if the disk has room, and releases the folder.
func (s *Store) Close() error {
	s.life.Lock()
	defer s.life.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	s.stop()
	s.workers.Wait()
	if s.space.checkSpare() != nil {
		return s.release() // the journal has it all; a full disk would only hold up the end
	}
	// Chunks, too, leave their log: the next start reads nothing again.
	return errors.Join(s.flush(context.Background()), s.db.Flush(), s.release())
}

// release closes what open opened.
func (s *Store) release() error {
	var errs []error
	if s.journal != nil {
		errs = append(errs, s.journal.Close())
	}
	if s.db != nil {
		errs = append(errs, s.db.Close())
	}
	if s.folder != nil {
		errs = append(errs, s.folder.close())
	}
	return errors.Join(errs...)
}

// table returns a table by its name. mu is held.
func (s *Store) table(t bucket.Table) (*table, error) {
	tb, ok := s.tables.byName[t]
	if !ok {
		return nil, fmt.Errorf("%s: %w", t, store.ErrNoTable)
	}
	return tb, nil
}

func hashText(s string) uint64 { return xxhash.Sum64String(s) }

// get returns a copy of a key's value; nil if there is none.
func get(db *pebble.DB, key []byte) (value []byte, err error) {
	data, closer, err := db.Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	value = append([]byte{}, data...)
	return value, closer.Close()
}

// closing adds the error of closing c to err.
func closing(err error, c io.Closer) error { return errors.Join(err, c.Close()) }
