package local

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/cockroachdb/pebble/v2"

	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/local/journal"
)

// changes carries changes of items and tables into the journal, and then into Pebble when they
// are durable.
type changes struct {
	// barrier is read-locked from the append of a change until its application, and write-locked
	// while the journal begins a segment. So a flush contains every change of the segments that
	// it makes obsolete.
	barrier sync.RWMutex

	mu        sync.Mutex
	unapplied []*change // in the order of the journal
}

// change is a batch in the journal without a waiting caller: the wait failed or the caller gave
// up. It may still become durable, and is applied then.
type change struct {
	commit *journal.Commit
	batch  *pebble.Batch
	then   func() // updates the memory; may be nil

	mu      sync.Mutex
	applied bool
}

// commitChange makes a batch durable, applies it and calls then, which may be nil.
//
// If it returns a change, the outcome is open, and the next change of the same data must resolve
// it first. commitChange closes the batch. It fails if an item of the keys was damaged since it
// was read.
func (s *Store) commitChange(ctx context.Context, batch *pebble.Batch, keys []store.Key, then func()) (*change, error) {
	if batch.Empty() {
		return nil, batch.Close()
	}
	s.changes.barrier.RLock()
	defer s.changes.barrier.RUnlock()
	s.repair.RLock()
	defer s.repair.RUnlock()
	if err := s.itemsIntact(keys); err != nil {
		return nil, closing(err, batch)
	}
	if err := s.journal.Ready(); err != nil {
		return nil, closing(s.unavailable(err), batch)
	}
	c := &change{commit: s.journal.Append(journal.Batch, batch.Repr()), batch: batch, then: then}
	if s.journal.Size() >= s.opts.JournalBytes {
		s.wake()
	}
	if err := c.commit.Wait(ctx); err != nil {
		s.changes.mu.Lock()
		defer s.changes.mu.Unlock()
		s.changes.unapplied = append(s.changes.unapplied, c)
		if then == nil {
			s.workers.Go(func() { _ = s.resolve(s.background, c) }) // a flush or the next change retries
		}
		return c, s.unavailable(err)
	}
	return nil, c.apply(s.db)
}

// apply applies a durable change once. No file is set aside meanwhile.
func (c *change) apply(db *pebble.DB) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.applied {
		return nil
	}
	if err := db.Apply(c.batch, pebble.NoSync); err != nil {
		return err
	}
	c.applied = true
	if c.then != nil {
		c.then()
	}
	return c.batch.Close()
}

// resolve waits until an open change is durable, and applies it. The change may be nil. resolve
// fails while the journal cannot be written.
func (s *Store) resolve(ctx context.Context, c *change) error {
	if c == nil {
		return nil
	}
	for commit := c.commit; ; {
		err := commit.Wait(ctx)
		if err == nil {
			s.repair.RLock()
			defer s.repair.RUnlock()
			return c.apply(s.db)
		}
		next := commit.Retry()
		if ctx.Err() != nil || next == nil || !next.Ended() && s.journal.Ready() != nil {
			return s.unavailable(err)
		}
		commit = next
	}
}

// applyDurable applies open changes that are durable now. The caller holds the lock of the
// catalog.
func (s *Store) applyDurable() error {
	s.repair.RLock()
	defer s.repair.RUnlock()
	s.changes.mu.Lock()
	defer s.changes.mu.Unlock()
	var errs []error
	s.changes.unapplied = slices.DeleteFunc(s.changes.unapplied, func(c *change) bool {
		if !c.commit.Durable() {
			return false
		}
		err := c.apply(s.db)
		errs = append(errs, err)
		return err == nil
	})
	return errors.Join(errs...)
}

// lockCatalog locks the catalog after the outcome of the previous change is known.
func (s *Store) lockCatalog(ctx context.Context) (unlock func(), err error) {
	s.catalog.Lock()
	if err := s.resolve(ctx, s.catalogChange); err != nil {
		s.catalog.Unlock()
		return nil, err
	}
	s.catalogChange = nil
	if s.catalogUnsaved {
		if err := s.saveCatalog(); err != nil {
			s.catalog.Unlock()
			return nil, s.unavailable(err)
		}
	}
	return s.catalog.Unlock, nil
}

// commitCatalog commits a change of tables as the next generation of the catalog.
//
// After success, Pebble and CATALOG have it. If only Pebble has it, the change is reported as
// unavailable, and the next change saves CATALOG first. The caller holds the lock of the
// catalog.
func (s *Store) commitCatalog(ctx context.Context, batch *pebble.Batch, then func()) (err error) {
	if err := putGeneration(batch, s.generation+1); err != nil {
		return closing(err, batch)
	}
	s.catalogChange, err = s.commitChange(ctx, batch, nil, func() {
		s.generation++
		s.catalogUnsaved = true
		s.mu.Lock()
		defer s.mu.Unlock()
		then()
	})
	if err != nil {
		return err
	}
	if err := s.saveCatalog(); err != nil {
		return s.unavailable(err)
	}
	return nil
}
