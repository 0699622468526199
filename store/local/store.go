package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cespare/xxhash/v2"
	"github.com/cockroachdb/pebble/v2"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/internal/lanes"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/local/journal"
	"github.com/varvedb/varve/store/local/memtable"
)

// Store is an embedded store. Open creates one. It is safe for concurrent use.
type Store struct {
	opts    Options
	folder  *folder
	db      *pebble.DB
	pebble  *pebble.Options // of db
	emptied bool            // Pebble was missing and is recreated
	// flushedLost means that replayed readings may be in chunks already.
	flushedLost bool
	watcher     *watcher
	ledger      *ledger
	journal     *journal.Writer
	guard       *diskGuard
	lanes       *lanes.Lanes

	// life is read-locked by every call, and write-locked by Close.
	life   sync.RWMutex
	closed bool

	// repair is read-locked by commits to Pebble, and write-locked while damaged files are set
	// aside. It is locked after all other locks.
	repair sync.RWMutex

	// catalog serializes changes of tables and chunks in Pebble.
	catalog        sync.Mutex
	generation     uint64  // of the catalog; guarded by catalog
	catalogUnsaved bool    // CATALOG lacks the last change; guarded by catalog
	nextTable      uint32  // guarded by catalog
	catalogChange  *change // the last change if its outcome is open; guarded by catalog
	nextChunk      atomic.Uint64
	changes        changes

	// mu guards tables, series buffers and memtables. It is never held during I/O.
	mu          sync.RWMutex
	tables      *tables
	bufferCount int    // number of series buffers in all tables
	epoch       uint64 // flush epoch: the number of series buffers that were flushed
	mutable     *memtable.Memtable
	immutable   *memtable.Memtable // the immutable memtable; nil if none exists
	filled      [2][]*seriesBuffer // the series buffers with rows in each memtable, indexed by parity
	records     uint64             // number of journal records
	room        chan struct{}      // closed when immutable becomes nil
	flushErr    error              // error of the last flush; nil after a success

	background context.Context
	stop       context.CancelFunc
	workers    sync.WaitGroup
	flushes    chan struct{} // signals that the mutable memtable is full
	evictions  chan struct{} // signals that too many series buffers are idle
	coldTables chan grid.Table
	dropped    chan uint32 // numbers of dropped tables
	items      itemLocks
}

var _ store.Store = (*Store)(nil)

// Open opens the store in a folder, which it creates if missing, and replays the journal.
//
// It fails with a Conflict if another process has the folder open, and with store.ErrDamaged if
// a part of the store is missing or damaged.
func Open(opts Options) (*Store, error) {
	s := &Store{
		opts:      opts.withDefaults(),
		lanes:     lanes.New(time.Now),
		mutable:   memtable.New(0),
		room:      make(chan struct{}),
		flushes:   make(chan struct{}, 1),
		evictions: make(chan struct{}, 1),
		// A rotation tunes and drops at most a few hundred tables. It waits above that.
		coldTables: make(chan grid.Table, 1024),
		dropped:    make(chan uint32, 1024),
	}
	s.background, s.stop = context.WithCancel(context.Background())
	s.watcher = newWatcher(s.background, s.opts.Events)
	if err := s.open(); err != nil {
		s.stop()
		return nil, errors.Join(err, s.release())
	}
	s.workers.Go(s.flushLoop)
	s.workers.Go(s.reclaimLoop)
	s.workers.Go(s.expireLoop)
	s.workers.Go(func() { s.guard.watch(s.background) })
	s.workers.Go(s.repairLoop)
	return s, nil
}

func (s *Store) open() error {
	var err error
	if s.folder, err = openFolder(s.opts); err != nil {
		return err
	}
	restricted, err := s.folder.restrict()
	if err != nil {
		return fmt.Errorf("data folder %s: %w", s.opts.Dir, plain(err))
	}
	if restricted > 0 {
		s.opts.Events.Restricted(restricted)
	}
	s.guard = newDiskGuard(s.opts)
	if s.ledger, err = openLedger(s.folder, s.opts.Conditions); err != nil {
		return err
	}
	if err = s.openDatabase(); err != nil {
		if errors.Is(err, store.ErrDamaged) {
			return err
		}
		return s.folder.failed(err)
	}
	if err = s.recover(); err != nil {
		return fmt.Errorf("data folder %s: %w", s.opts.Dir, plain(err))
	}
	return nil
}

// enter begins a call. leave ends it.
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

// Close waits for running calls, flushes the memtable and releases the folder.
//
// It skips the flush if the disk has too little room.
func (s *Store) Close() error {
	s.life.Lock()
	defer s.life.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	s.stop()
	s.workers.Wait()
	if s.guard.checkSpare() != nil {
		return s.release() // the journal has all data, and a flush on a full disk would only delay Close
	}
	return errors.Join(s.flush(context.Background()), s.makeDurable(context.Background()), s.release())
}

// release closes everything that open opened.
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

// table returns a table by its name. The caller holds mu.
func (s *Store) table(t grid.Table) (*table, error) {
	tb, ok := s.tables.byName[t]
	if !ok {
		if err := s.catalogIntact(); err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("%s: %w", t, store.ErrNoTable)
	}
	return tb, nil
}

func hashText(s string) uint64 { return xxhash.Sum64String(s) }

// get returns a copy of the value of a key, or nil if it is missing.
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

// closing joins err and the error of closing c.
func closing(err error, c io.Closer) error { return errors.Join(err, c.Close()) }
