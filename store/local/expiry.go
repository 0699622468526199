package local

import (
	"context"
	"errors"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/varvedb/varve/store"
)

// expireEvery is the interval at which expired items are deleted. Until then, reads ignore them.
const expireEvery = time.Hour

// expiry deletes expired items in the background.
type expiry struct{ items *itemStore }

func (e *expiry) loop() {
	tick := time.NewTicker(expireEvery)
	defer tick.Stop()
	for {
		select {
		case <-e.items.db.life.background.Done():
			return
		case <-tick.C:
		}
		if _, err := e.deleteExpired(e.items.db.life.background); err != nil && e.items.db.life.background.Err() == nil {
			e.items.db.opts.Events.Failed("delete expired items", err)
		}
	}
}

// expireAtOnce is the maximum number of items that one change deletes.
const expireAtOnce = 100

// deleteExpired deletes the expired items, and returns the number that it found.
func (e *expiry) deleteExpired(ctx context.Context) (n int, err error) {
	bounds := &pebble.IterOptions{LowerBound: []byte{spaceItem}, UpperBound: []byte{spaceItem + 1}}
	iter, err := e.items.db.NewIterWithContext(ctx, bounds)
	if err != nil {
		return 0, err
	}
	defer func() { err = closing(err, iter) }()
	var expired []store.Key
	for ok := iter.First(); ok && ctx.Err() == nil; ok = iter.Next() {
		it, err := e.items.stored.itemAt(iter)
		if err != nil {
			return n, err
		}
		if e.items.stored.live(it) != nil {
			continue
		}
		if expired = append(expired, it.Key); len(expired) < expireAtOnce {
			continue
		}
		if err := e.deleteItems(ctx, expired); err != nil {
			return n, err
		}
		n += len(expired)
		expired = expired[:0]
	}
	return n + len(expired), errors.Join(e.deleteItems(ctx, expired), iter.Error())
}

// deleteItems deletes items unless they were rewritten meanwhile. The deletion is an ordinary
// change, so later changes of the same items wait for it.
func (e *expiry) deleteItems(ctx context.Context, keys []store.Key) error {
	held := e.items.locks.lock(keys)
	defer e.items.locks.unlock(held)
	if err := e.items.resolve(ctx, held); err != nil {
		return err
	}
	batch := e.items.db.NewBatch()
	intact := make([]store.Key, 0, len(keys))
	for _, k := range keys {
		it, err := e.items.stored.load(k)
		if isDamage(err) {
			continue // reads of lost items are refused in any case
		}
		intact = append(intact, k)
		if err == nil && it != nil && e.items.stored.live(it) == nil {
			err = errors.Join(deleteEntries(batch, it), batch.Delete(itemKey(k), nil))
		}
		if err != nil {
			return closing(err, batch)
		}
	}
	return e.items.commit(ctx, held, intact, batch)
}
