package local

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/local/chunk"
)

// AcceptLosses accepts all losses, so that the store serves the remaining data. It returns the
// accepted losses.
//
// Items in a lost range are deleted, because the remaining copies may be out of date, such as a
// revoked API key. Each item of restore whose key is in a lost range replaces them. Files that
// were set aside are kept. Lost roll-ups must be recounted: see Unrecounted.
func (s *Store) AcceptLosses(ctx context.Context, restore ...store.Item) (accepted []Loss, err error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.leave()
	if err := s.setAsideAll(ctx); err != nil {
		return nil, err
	}
	accepted = s.Losses()
	ranges := slices.Clone(s.ledger.all())
	// New damage is set aside, and stays refused.
	if err := s.afterDamage(func() error { return s.repairRanges(ctx, ranges, restore) }); err != nil {
		return nil, err
	}
	// The discarded data must not reappear after a crash.
	if err := s.makeDurable(ctx); err != nil {
		return nil, err
	}
	err = s.ledger.change(func(rec *lostRecord) {
		rec.Pending = append(rec.Pending, itemRanges(ranges, rec.Rebuilt)...)
		rec.Rebuilt = time.Time{}
		// Ranges that were found meanwhile stay.
		rec.Ranges = slices.DeleteFunc(rec.Ranges, func(l lost) bool { return slices.ContainsFunc(ranges, l.same) })
	})
	return accepted, errors.Join(err, s.rewritePairs())
}

// repairRanges repairs the remaining data of lost ranges, so that it can be served.
func (s *Store) repairRanges(ctx context.Context, ranges []lost, restore []store.Item) error {
	items := !s.ledger.rebuiltAt().IsZero()
	for i := range ranges {
		l := &ranges[i]
		items = items || l.overlapsSpace(spaceItem) || l.overlapsSpace(spaceGSI1) || l.overlapsSpace(spaceGSI2)
		if err := s.dropOldItems(ctx, l, restore); err != nil {
			return err
		}
		if err := s.demoteOverlapping(ctx, l); err != nil {
			return err
		}
	}
	if items {
		if err := s.repairIndexes(ctx); err != nil {
			return err
		}
	}
	return s.recount(ranges)
}

// each calls do for the keys from <= key < to, with their values.
func (s *Store) each(ctx context.Context, from, to []byte, do func(key, value []byte) error) (err error) {
	iter, err := s.db.NewIterWithContext(ctx, &pebble.IterOptions{LowerBound: from, UpperBound: to})
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

// bounded returns the part of a range in a key space, or false if it is empty.
func (l *lost) bounded(space byte) (from, to []byte, ok bool) {
	from, to = []byte{space}, []byte{space + 1}
	if bytes.Compare(l.From, from) > 0 {
		from = l.From
	}
	if bytes.Compare(l.To, to) < 0 {
		to = l.To
	}
	return from, to, bytes.Compare(from, to) < 0
}

// dropOldItems deletes the remaining items in a lost range. No writer can change them meanwhile,
// because writes are refused.
func (s *Store) dropOldItems(ctx context.Context, l *lost, restore []store.Item) (err error) {
	from, to, ok := l.bounded(spaceItem)
	if !ok {
		return nil
	}
	batch := s.db.NewBatch()
	err = s.each(ctx, from, to, func(key, _ []byte) error { return batch.Delete(key, nil) })
	if err != nil {
		return closing(err, batch)
	}
	for i := range restore {
		if key := itemKey(restore[i].Key); bytes.Compare(from, key) <= 0 && bytes.Compare(key, to) < 0 {
			if err := putItem(batch, &restore[i]); err != nil {
				return closing(err, batch)
			}
		}
	}
	_, err = s.commitChange(ctx, batch, nil, nil)
	return err
}

// repairIndexes repairs the secondary indexes from the items.
func (s *Store) repairIndexes(ctx context.Context) error {
	for _, ix := range []store.Index{store.GSI1, store.GSI2} {
		space := indexSpace(ix)
		err := s.each(ctx, []byte{space}, []byte{space + 1}, func(key, _ []byte) error {
			k, ok := entryOf(key)
			if !ok {
				return errItemKey(key)
			}
			return s.repairEntry(ctx, slices.Clone(key), ix, k)
		})
		if err != nil {
			return err
		}
	}
	return s.each(ctx, []byte{spaceItem}, []byte{spaceItem + 1}, func(key, value []byte) error {
		k, ok := cutKey(key[1:])
		if !ok {
			return errItemKey(key)
		}
		return s.addMissingEntries(ctx, k)
	})
}

// entryOf parses the key of the item in an entry of a secondary index.
func entryOf(key []byte) (k store.Key, ok bool) {
	rest := key[1:]
	for range 2 {
		if _, rest, ok = cutPart(rest); !ok {
			return k, false
		}
	}
	return cutKey(rest)
}

// repairEntry deletes an entry of an index if it does not match its item.
func (s *Store) repairEntry(ctx context.Context, key []byte, ix store.Index, k store.Key) error {
	held := s.items.lock([]store.Key{k})
	defer s.items.unlock(held)
	if err := s.resolveItems(ctx, held); err != nil {
		return err
	}
	data, err := get(s.db, itemKey(k))
	if err != nil {
		return err
	}
	if data != nil {
		it, err := decodeItem(k, data)
		if err != nil {
			return err
		}
		if in := it.In(ix); !in.IsZero() && bytes.Equal(indexKey(ix, in, k), key) {
			return nil
		}
	}
	batch := s.db.NewBatch()
	if err := batch.Delete(key, nil); err != nil {
		return closing(err, batch)
	}
	return s.commitItems(ctx, held, nil, batch)
}

// addMissingEntries adds missing index entries of an item.
func (s *Store) addMissingEntries(ctx context.Context, k store.Key) error {
	held := s.items.lock([]store.Key{k})
	defer s.items.unlock(held)
	if err := s.resolveItems(ctx, held); err != nil {
		return err
	}
	data, err := get(s.db, itemKey(k))
	if err != nil || data == nil {
		return err
	}
	it, err := decodeItem(k, data)
	if err != nil {
		return err
	}
	batch := s.db.NewBatch()
	for _, ix := range []store.Index{store.GSI1, store.GSI2} {
		in := it.In(ix)
		if in.IsZero() {
			continue
		}
		key := indexKey(ix, in, k)
		_, closer, err := s.db.Get(key)
		if errors.Is(err, pebble.ErrNotFound) {
			err = batch.Set(key, nil, nil)
		} else if err == nil {
			err = closer.Close()
		}
		if err != nil {
			return closing(err, batch)
		}
	}
	return s.commitItems(ctx, held, nil, batch)
}

// demoteOverlapping restores the rule that chunks of level 1 are disjoint, in the series of a lost
// range.
//
// If the deletion of a merged chunk was lost, the chunk reappears. In level 0, its copies of
// readings are harmless.
func (s *Store) demoteOverlapping(ctx context.Context, l *lost) (err error) {
	from, to, ok := l.bounded(spaceChunk)
	if !ok {
		return nil
	}
	// Includes the whole series at both ends of the range.
	if k, ok := parseChunkKey(from); ok {
		from = appendSeriesSpace(nil, k.number, k.series)
	}
	if k, ok := parseChunkKey(to); ok {
		to = after(appendSeriesSpace(nil, k.number, k.series))
	}
	s.catalog.Lock() // prevents merges meanwhile
	defer s.catalog.Unlock()
	batch := s.db.NewBatch()
	defer func() { err = closing(err, batch) }()
	var space []byte
	var reach int64
	err = s.each(ctx, from, to, func(key, value []byte) error {
		k, ok := parseChunkKey(key)
		h, err := chunk.ReadHeader(value)
		if !ok || err != nil || k.level != level1 {
			return nil //nolint:nilerr // a read of the chunk reports the damage
		}
		if own := key[:len(key)-chunkKeySuffix]; !bytes.Equal(own, space) {
			space, reach = slices.Clone(own), -1
		}
		if h.MinTime >= reach {
			reach = max(reach, h.MaxTime)
			return nil
		}
		demoted := slices.Clone(key)
		demoted[len(space)] = level0
		return errors.Join(batch.Delete(key, nil), batch.Set(demoted, value, nil))
	})
	if err != nil || batch.Empty() {
		return err
	}
	return s.apply(batch)
}

// recount recounts the readings of tables with losses.
func (s *Store) recount(ranges []lost) (err error) {
	s.catalog.Lock()
	defer s.catalog.Unlock()
	batch := s.db.NewBatch()
	defer func() { err = closing(err, batch) }()
	changed := map[*table]tableStats{}
	s.mu.RLock()
	tables := slices.Clone(s.tables.sorted)
	s.mu.RUnlock()
	for _, t := range tables {
		space := chunkSpace(t.number)
		if !slices.ContainsFunc(ranges, func(l lost) bool { return l.overlaps(space, after(space)) }) {
			continue
		}
		if changed[t], err = s.countChunks(t.number); err != nil {
			return err
		}
		if err := changed[t].put(batch, t.number); err != nil {
			return err
		}
	}
	if err := s.apply(batch); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for t, stats := range changed {
		t.stats = stats
	}
	return nil
}
