package local

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/cockroachdb/pebble/v2"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/local/journal"
)

// A change of items or tables is one Pebble batch. It is appended to the journal. When it is
// durable there, it is applied to Pebble. So no reader sees a change that a power cut can revert.
//
// The caller locks the changed items, or the catalog, until the change is applied. If the caller stops
// waiting, the next change of the same data resolves the earlier one first. The journal begins no segment
// while a caller waits for a change. Before a flush records f, the last segment that Pebble has, it applies
// the changes that no caller waits for. So Pebble has all changes of the segments up to f.
//
// Pebble makes batches durable in order. After a crash, it has a prefix of the applied batches, and
// the changes of the journal are applied to it once more. That is harmless: flushes and
// compactions, which are not in the journal, write other keys than these changes (see keys.go). A
// segment with many changes and few readings ends at Options.JournalBytes.

// changeLog appends changes of items and tables to the journal, and applies them to Pebble when
// they are durable.
type changeLog struct {
	db  *database
	mem *memory

	// barrier is read-locked from the append of a change until the change is applied or the wait
	// for it fails. It is write-locked while the journal begins a segment. So a flush finds each
	// change of its segment in Pebble or in the list "unapplied".
	barrier sync.RWMutex

	mu        sync.Mutex
	unapplied []*change // changes with an open outcome, until applyDurable has applied them
}

// change is a batch in the journal. Its outcome is open if the write failed or the caller stopped
// waiting. Such an open change may still become durable, and is then applied.
type change struct {
	commit *journal.Commit
	batch  *pebble.Batch
	then   func() // called when the change is applied, to update the memory; may be nil
	begun  []int  // counters of the changed items, for ItemVersions.End

	mu      sync.Mutex
	applied bool
}

// commit makes a batch durable, applies it, and calls the function "then" unless it is nil.
//
// If commit returns a change, the outcome is open. Then the next change of the same data must
// resolve the returned change first. The caller must not use the batch afterward. commit fails, and
// stores nothing, if one of the keys is in a lost range, or if the batch is larger than a frame of the journal.
func (c *changeLog) commit(ctx context.Context, batch *pebble.Batch, keys []store.Key, then func()) (*change, error) {
	if batch.Empty() {
		return nil, batch.Close()
	}
	c.barrier.RLock()
	defer c.barrier.RUnlock()
	c.db.aside.RLock()
	defer c.db.aside.RUnlock()
	if err := c.db.ledger.itemsIntact(keys); err != nil {
		return nil, closing(err, batch)
	}
	if size, most := len(batch.Repr()), c.db.opts.changeBytes; size > most {
		return nil, closing(varve.Errorf(varve.Invalid, "items: %d bytes in one change, above %d: write fewer items at a time", size, most), batch)
	}
	if err := c.db.journal.Ready(); err != nil {
		return nil, closing(c.db.guard.Unavailable(err), batch)
	}
	begun := c.db.versions.Begin(keys) // counts the change before it can be applied
	ch := &change{commit: c.db.journal.Append(journal.Batch, batch.Repr()), batch: batch, then: then, begun: begun}
	if c.db.journal.Size() >= c.db.opts.JournalBytes {
		c.mem.requestFlush()
	}
	if err := ch.commit.Wait(ctx); err != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.unapplied = append(c.unapplied, ch)
		if then == nil {
			// If resolve fails, a flush or the next change retries.
			c.db.life.workers.Go(func() { _ = c.resolve(c.db.life.background, ch) })
		}
		return ch, c.db.guard.Unavailable(err)
	}
	return nil, ch.apply(c.db)
}

// apply applies a durable change once. The caller has read-locked database.aside, so that no file is
// set aside meanwhile.
func (ch *change) apply(db *database) error {
	ch.mu.Lock()
	defer ch.mu.Unlock()
	if ch.applied {
		return nil
	}
	if err := db.Apply(ch.batch, pebble.NoSync); err != nil {
		return err
	}
	ch.applied = true
	if ch.then != nil {
		ch.then()
	}
	db.versions.End(ch.begun)
	return ch.batch.Close()
}

// resolve waits until an open change is durable, and applies it. The change may be nil. resolve
// fails while the journal cannot be written.
func (c *changeLog) resolve(ctx context.Context, ch *change) error {
	if ch == nil {
		return nil
	}
	for commit := ch.commit; ; {
		err := commit.Wait(ctx)
		if err == nil {
			c.db.aside.RLock()
			defer c.db.aside.RUnlock()
			return ch.apply(c.db)
		}
		next := commit.Retry()
		if ctx.Err() != nil || next == nil || !next.Ended() && c.db.journal.Ready() != nil {
			return c.db.guard.Unavailable(err)
		}
		commit = next
	}
}

// applyDurable applies open changes that are durable now. The caller has locked the catalog.
func (c *changeLog) applyDurable() error {
	c.db.aside.RLock()
	defer c.db.aside.RUnlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	var errs []error
	c.unapplied = slices.DeleteFunc(c.unapplied, func(ch *change) bool {
		if !ch.commit.Durable() {
			return false
		}
		err := ch.apply(c.db)
		errs = append(errs, err)
		return err == nil
	})
	return errors.Join(errs...)
}
