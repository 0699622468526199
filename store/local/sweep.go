package local

import (
	"context"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/varvedb/varve/store"
)

// sweepEvery is how often expired items are deleted. Until then they take room,
// and are not seen.
const sweepEvery = time.Hour

func (s *Store) sweepLoop() {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		select {
		case <-s.background.Done():
			return
		case <-tick.C:
		}
		if _, err := s.sweep(s.background); err != nil && s.background.Err() == nil {
			s.opts.Events.Failed("delete expired items", err)
		}
	}
}

// sweep deletes the items whose time has come, and returns how many.
func (s *Store) sweep(ctx context.Context) (n int, err error) {
	bounds := &pebble.IterOptions{LowerBound: []byte{spaceItem}, UpperBound: []byte{spaceItem + 1}}
	iter, err := s.db.NewIterWithContext(ctx, bounds)
	if err != nil {
		return 0, err
	}
	defer func() { err = closing(err, iter) }()
	for ok := iter.First(); ok && ctx.Err() == nil; ok = iter.Next() {
		it, err := itemAt(nil, iter, store.Primary)
		if err != nil {
			return n, err
		}
		if s.live(it) != nil {
			continue
		}
		if err := s.sweepItem(it.Key); err != nil {
			return n, err
		}
		n++
	}
	return n, iter.Error()
}

// sweepItem deletes an item, if it has not been put again meanwhile.
func (s *Store) sweepItem(k store.Key) (err error) {
	lock := s.items.of(k)
	lock.Lock()
	defer lock.Unlock()
	it, err := s.load(k)
	if err != nil || it == nil || s.live(it) != nil {
		return err
	}
	batch := s.db.NewBatch()
	defer func() { err = closing(err, batch) }()
	if err := leaveIndexes(batch, it); err != nil {
		return err
	}
	if err := batch.Delete(itemKey(k), nil); err != nil {
		return err
	}
	return batch.Commit(pebble.NoSync) // if it comes back, it is swept again
}
