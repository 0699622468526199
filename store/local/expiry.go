package local

import (
	"context"
	"errors"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/varvedb/varve/store"
)

// expireEvery is the interval at which expired items are deleted. They are invisible before.
const expireEvery = time.Hour

func (s *Store) expireLoop() {
	tick := time.NewTicker(expireEvery)
	defer tick.Stop()
	for {
		select {
		case <-s.background.Done():
			return
		case <-tick.C:
		}
		if _, err := s.deleteExpired(s.background); err != nil && s.background.Err() == nil {
			s.opts.Events.Failed("delete expired items", err)
		}
	}
}

// expireAtOnce is the number of items that one change deletes.
const expireAtOnce = 100

// deleteExpired deletes the expired items and returns their number.
func (s *Store) deleteExpired(ctx context.Context) (n int, err error) {
	bounds := &pebble.IterOptions{LowerBound: []byte{spaceItem}, UpperBound: []byte{spaceItem + 1}}
	iter, err := s.db.NewIterWithContext(ctx, bounds)
	if err != nil {
		return 0, err
	}
	defer func() { err = closing(err, iter) }()
	var expired []store.Key
	for ok := iter.First(); ok && ctx.Err() == nil; ok = iter.Next() {
		it, err := s.itemAt(nil, iter, store.Primary)
		if err != nil {
			return n, err
		}
		if s.live(it) != nil {
			continue
		}
		if expired = append(expired, it.Key); len(expired) < expireAtOnce {
			continue
		}
		if err := s.deleteExpiredItems(ctx, expired); err != nil {
			return n, err
		}
		n += len(expired)
		expired = expired[:0]
	}
	return n + len(expired), errors.Join(s.deleteExpiredItems(ctx, expired), iter.Error())
}

// deleteExpiredItems deletes items unless they were rewritten meanwhile. It is an ordinary change, so
// later changes of the same items wait for it.
func (s *Store) deleteExpiredItems(ctx context.Context, keys []store.Key) error {
	held := s.items.lock(keys)
	defer s.items.unlock(held)
	if err := s.resolveItems(ctx, held); err != nil {
		return err
	}
	batch := s.db.NewBatch()
	intact := make([]store.Key, 0, len(keys))
	for _, k := range keys {
		it, err := s.load(k)
		if isDamage(err) {
			continue // lost items are refused in any case
		}
		intact = append(intact, k)
		if err == nil && it != nil && s.live(it) == nil {
			err = errors.Join(deleteEntries(batch, it), batch.Delete(itemKey(k), nil))
		}
		if err != nil {
			return closing(err, batch)
		}
	}
	return s.commitItems(ctx, held, intact, batch)
}
