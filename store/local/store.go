package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/cespare/xxhash/v2"
	"github.com/cockroachdb/pebble/v2"

	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/internal/lanes"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/local/diskguard"
)

// The parts of a Store:
//
//	             Store: Open, Close, and methods that delegate to one part each
//	  ┌────────────┬───────────┬──────┴──────┬──────────────┬───────────────┐
//	writer       reader     flusher      lifecycle   itemReader         repair
//	  │            │        compactor     catalog    itemStore, expiry  damageReport
//	  │            │           │             └──── changeLog ┘          quarantine
//	  ▼            ▼           ▼                       ▼                    ▼
//	memory: tables, series buffers,    ──▶   database: Pebble, journal, folder,
//	        mutable and immutable memtable             lost ranges, disk guard
//
// Each part has its own state, and links only to parts below or beside it. The opener and the
// recovery exist only while Open runs.
//
//	Write  writer ─▶ journal (durable) and memory; compares with memory, and with
//	       chunks unless the event time is after the max flushed time of the series
//	Read   reader ◀─ both memtables, level 0 and level 1, merged by position
//	Flush  flusher: rotates the memtable, encodes series buffers into chunks of level 0 or 1,
//	       commits them with the segment's number, and then removes the segments
//	       compactor: merges level 0 into level 1
//	Item   itemStore ─▶ changeLog ─▶ journal (durable) ─▶ Pebble
//	Table  lifecycle ─▶ catalog ─▶ changeLog ─▶ journal, Pebble, CATALOG
//	Open   opener: Pebble; recovery: journal ─▶ memory ─▶ flusher

// Store is an embedded store. Open creates one. It is safe for concurrent use.
//
// It connects the parts of the package. Each method of an interface in package store calls a method of
// one part.
type Store struct {
	*lifecycle
	*itemStore

	life *lifetime
	db   *database
	mem  *memory

	writer    *writer
	reader    *reader
	flusher   *flusher
	compactor *compactor
	eraser    *eraser
	snapshots *snapshotter

	stored  *itemReader
	expiry  *expiry
	changes *changeLog
	catalog *catalog

	report     *damageReport
	quarantine *quarantine
	repair     *repair
}

var (
	_ store.Store   = (*Store)(nil)
	_ store.Expirer = (*Store)(nil)
)

// Open opens the store in a folder, which it creates if missing, and replays the journal.
//
// It fails with Invalid if an option is out of range, and with a Conflict if another process has the
// folder open. It fails with store.ErrDamaged in the cases that the package comment lists.
func Open(opts Options) (*Store, error) {
	if err := opts.validate(); err != nil {
		return nil, err
	}
	s := newStore(opts.withDefaults())
	if err := s.open(); err != nil {
		s.life.stop()
		return nil, errors.Join(err, s.release())
	}
	s.life.workers.Go(s.flusher.loop)
	s.life.workers.Go(s.lifecycle.reclaimLoop)
	s.life.workers.Go(s.expiry.loop)
	s.life.workers.Go(func() { s.db.guard.Watch(s.life.background) })
	s.life.workers.Go(s.quarantine.loop)
	return s, nil
}

// newStore returns a store whose folder is not open yet.
func newStore(opts Options) *Store {
	life := newLifetime()
	db := &database{opts: opts, life: life, lanes: lanes.New(time.Now), watcher: newWatcher(life.background, opts.Events)}
	mem := newMemory(db)
	changes := &changeLog{db: db, mem: mem}
	report := &damageReport{db: db, mem: mem}
	aside := &quarantine{db: db, report: report}
	catalog := &catalog{db: db, mem: mem, changes: changes, quarantine: aside}
	// A rotation tunes and drops at most a few hundred tables. If a channel is full, Tune and Drop
	// wait.
	compactor := &compactor{db: db, mem: mem, catalog: catalog, coldTables: make(chan grid.Table, 1024)}
	lifecycle := &lifecycle{db: db, mem: mem, catalog: catalog, compactor: compactor, dropped: make(chan uint32, 1024)}
	stored := &itemReader{db: db}
	items := &itemStore{db: db, changes: changes, stored: stored}
	flusher := &flusher{db: db, mem: mem, catalog: catalog, compactor: compactor, exclusive: make(chan func())}
	return &Store{
		life: life, db: db, mem: mem,
		writer:  &writer{db: db, mem: mem},
		reader:  &reader{db: db, mem: mem},
		eraser:  &eraser{db: db, mem: mem, flusher: flusher, compactor: compactor},
		flusher: flusher, compactor: compactor, snapshots: &snapshotter{db: db, catalog: catalog, flusher: flusher},
		stored: stored, itemStore: items, expiry: &expiry{items: items},
		changes: changes, catalog: catalog, lifecycle: lifecycle,
		report: report, quarantine: aside,
		repair: &repair{db: db, compactor: compactor, catalog: catalog, items: items, report: report},
	}
}

func (s *Store) open() error {
	db, opts := s.db, s.db.opts
	var err error
	if db.folder, err = openFolder(opts); err != nil {
		return err
	}
	restricted, err := db.folder.restrict()
	if err != nil {
		return fmt.Errorf("data folder %s: %w", opts.Dir, plain(err))
	}
	if restricted > 0 {
		opts.Events.Restricted(restricted)
	}
	db.guard = diskguard.New(opts.FS, opts.Dir, opts.MinFree, opts.Conditions)
	if db.ledger, err = openLedger(db.folder, opts.Conditions, &db.versions); err != nil {
		return err
	}
	opener := &opener{db: db, report: s.report}
	if err = opener.open(); err != nil {
		if errors.Is(err, store.ErrDamaged) {
			return err
		}
		return db.folder.failed(err)
	}
	recovery := &recovery{db: db, mem: s.mem, catalog: s.catalog, flusher: s.flusher, repair: s.repair}
	if err = recovery.recoverJournal(); err != nil {
		return fmt.Errorf("data folder %s: %w", opts.Dir, plain(err))
	}
	return nil
}

// Close waits for running calls, flushes the memtable and releases the folder.
//
// It skips the flush if the disk has too little room.
func (s *Store) Close() error {
	s.life.mu.Lock()
	defer s.life.mu.Unlock()
	if s.life.closed {
		return nil
	}
	s.life.closed = true
	s.life.stop()
	s.life.workers.Wait()
	if s.db.guard.CheckItems() != nil {
		return s.release() // the journal has all data, and a flush on a full disk would only delay Close
	}
	ctx := context.Background()
	return errors.Join(s.flusher.flush(ctx), s.db.makeDurable(ctx), s.release())
}

// release closes everything that open opened.
func (s *Store) release() error {
	var errs []error
	if s.db.journal != nil {
		errs = append(errs, s.db.journal.Close())
	}
	if s.db.DB != nil {
		errs = append(errs, s.db.Close())
	}
	if s.db.folder != nil {
		errs = append(errs, s.db.folder.close())
	}
	return errors.Join(errs...)
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

func closing(err error, c io.Closer) error { return errors.Join(err, c.Close()) }
