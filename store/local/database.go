package local

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"sync"

	"github.com/cockroachdb/pebble/v2"

	"github.com/varvedb/varve/internal/lanes"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/local/chunk"
	"github.com/varvedb/varve/store/local/diskguard"
	"github.com/varvedb/varve/store/local/journal"
)

// database is the durable part of the store: Pebble and the journal in a folder, with the list of
// lost key ranges. All other parts read and write through it.
type database struct {
	*pebble.DB
	options *pebble.Options
	journal *journal.Writer // nil until Open has replayed the journal
	folder  *folder
	ledger  *ledger
	watcher *watcher
	guard   *diskguard.Guard
	lanes   *lanes.Lanes
	life    *lifetime
	opts    Options

	versions store.ItemVersions    // versions of the items in Pebble
	readings store.ReadingVersions // versions of the readings of each series

	// aside is read-locked by commits to Pebble, and write-locked while damaged files are set
	// aside. In the order of locks in the package comment, it is the lock of the database.
	aside sync.RWMutex
}

// commit applies a batch to Pebble. It waits while a file is set aside.
func (d *database) commit(b *pebble.Batch) error {
	d.aside.RLock()
	defer d.aside.RUnlock()
	return d.Apply(b, pebble.NoSync)
}

// makeDurable waits until everything that was applied to Pebble is in its files.
func (d *database) makeDurable(ctx context.Context) error {
	flushed, err := d.AsyncFlush()
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

// flushToCheck makes Pebble write its memory into files, so that a check includes this data. On a
// full disk it does nothing, because a write would wait for room.
func (d *database) flushToCheck(ctx context.Context) error {
	if d.guard.CheckReserve() != nil {
		return nil //nolint:nilerr // the journal has the same data
	}
	done, err := d.AsyncFlush()
	if err != nil {
		return err
	}
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// visit calls the function "do" with each key for which from <= key < to, and with its value.
func (d *database) visit(ctx context.Context, from, to []byte, do func(key, value []byte) error) (err error) {
	iter, err := d.NewIterWithContext(ctx, &pebble.IterOptions{LowerBound: from, UpperBound: to})
	if err != nil {
		return err
	}
	defer func() { err = closing(err, iter) }()
	for ok := iter.First(); ok; ok = iter.Next() {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		value, err := iter.ValueAndErr()
		if err != nil {
			return err
		}
		if err := do(iter.Key(), value); err != nil {
			return err
		}
	}
	return iter.Error()
}

// visitSome calls the function "visit" for some of the keys with from <= key < to. Each call returns the
// lowest key for the next call. The caller has called lifetime.enter.
func (d *database) visitSome(ctx context.Context, from, to []byte, visit func(key []byte) (next []byte)) (err error) {
	iter, err := d.NewIterWithContext(ctx, &pebble.IterOptions{LowerBound: from, UpperBound: to})
	if err != nil {
		return err
	}
	defer func() { err = closing(err, iter) }()
	for ok := iter.First(); ok; {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		next := visit(iter.Key())
		if bytes.Compare(next, iter.Key()) <= 0 {
			return errors.New("keys are out of order")
		}
		ok = iter.SeekGE(next)
	}
	return iter.Error()
}

// countChunks counts the readings in the chunks of a table by their headers.
//
// It fails if it meets damage, because queries would omit a table whose count is wrongly 0. It reports each
// damaged chunk to the watcher, so that retryAfterDamage can set the damage aside.
func (d *database) countChunks(number uint32) (n tableStats, err error) {
	space := chunkSpace(number)
	var bad error
	err = d.visit(d.life.background, space, after(space), func(key, value []byte) error {
		h, err := chunk.ReadHeader(value)
		if err != nil {
			d.watcher.addChunk(key, err)
			bad = err
			return nil
		}
		n.readings += int64(h.Count)
		n.bytes += int64(len(key) + len(value))
		return nil
	})
	return n, cmp.Or(err, bad)
}
