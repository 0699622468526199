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

// repair accepts losses, and makes the remaining data consistent.
type repair struct {
	db        *database
	compactor *compactor
	catalog   *catalog
	items     *itemStore
	report    *damageReport
}

// AcceptLosses accepts all losses, so that the store serves the remaining data. It returns the
// accepted losses.
//
// Items in a lost range are deleted, because the remaining copies may be out of date, such as a
// revoked API key. If "restore" has items with keys in a lost range, these are written instead.
// Files that were set aside stay. Lost roll-ups must be recounted: see Unrecounted.
func (r *repair) AcceptLosses(ctx context.Context, restore ...store.Item) (accepted []Loss, err error) {
	if err := r.db.life.enter(ctx); err != nil {
		return nil, err
	}
	defer r.db.life.leave()
	if err := r.catalog.quarantine.setAsideAll(ctx); err != nil {
		return nil, err
	}
	// A merge that began before the damage was found does not know the chunks that reappeared with it. So it
	// must end before demoteOverlapping looks for them.
	r.compactor.merging.Lock()
	defer r.compactor.merging.Unlock()
	accepted = r.report.Losses()
	ranges := slices.Clone(r.db.ledger.all())
	// Damage that only this repair finds is set aside. It is not in "ranges", so it stays refused.
	if err := r.catalog.quarantine.retryAfterDamage(func() error { return r.repairRanges(ctx, ranges, restore) }); err != nil {
		return nil, err
	}
	// The discarded data must not reappear after a crash.
	if err := r.db.makeDurable(ctx); err != nil {
		return nil, err
	}
	err = r.db.ledger.change(func(rec *lostRecord) {
		rec.Pending = append(rec.Pending, itemRanges(ranges, rec.Rebuilt)...)
		rec.Rebuilt = time.Time{}
		// Remove the repaired ranges. Ranges that were found meanwhile stay.
		rec.Ranges = slices.DeleteFunc(rec.Ranges, func(l lost) bool { return slices.ContainsFunc(ranges, l.same) })
	})
	return accepted, errors.Join(err, r.catalog.rewritePairs())
}

// repairRanges repairs the remaining data of lost ranges, so that it can be served.
func (r *repair) repairRanges(ctx context.Context, ranges []lost, restore []store.Item) error {
	items := !r.db.ledger.rebuiltAt().IsZero()
	for i := range ranges {
		l := &ranges[i]
		items = items || l.overlapsSpace(spaceItem) || l.overlapsSpace(spaceGSI1) || l.overlapsSpace(spaceGSI2)
		if err := r.dropOldItems(ctx, l, restore); err != nil {
			return err
		}
		if err := r.demoteOverlapping(ctx, l); err != nil {
			return err
		}
	}
	if items {
		if err := r.repairIndexes(ctx); err != nil {
			return err
		}
	}
	return r.catalog.recountTables(ranges)
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

// repairBatch is the size in bytes at which a batch of deletions is committed. Tests reduce it.
var repairBatch = 4 << 20

// dropOldItems writes the items in "restore" whose keys are in a lost range, and deletes the other
// remaining items in the range. No writer can change them meanwhile, because writes are refused.
func (r *repair) dropOldItems(ctx context.Context, l *lost, restore []store.Item) (err error) {
	from, to, ok := l.bounded(spaceItem)
	if !ok {
		return nil
	}
	batch := r.db.NewBatch()
	defer func() { err = closing(err, batch) }()
	commit := func() error {
		full := batch
		batch = r.db.NewBatch()
		_, err := r.catalog.changes.commit(ctx, full, nil, nil)
		return err
	}
	restored := map[string]bool{}
	for i := range restore {
		if key := itemKey(restore[i].Key); bytes.Compare(from, key) <= 0 && bytes.Compare(key, to) < 0 {
			restored[string(key)] = true
			if err := putItem(batch, &restore[i]); err != nil {
				return err
			}
		}
	}
	if err := commit(); err != nil {
		return err
	}
	err = r.db.visit(ctx, from, to, func(key, _ []byte) error {
		if restored[string(key)] {
			return nil
		}
		if err := batch.Delete(key, nil); err != nil || batch.Len() < repairBatch {
			return err
		}
		return commit()
	})
	if err != nil {
		return err
	}
	return commit()
}

func (r *repair) repairIndexes(ctx context.Context) error {
	for _, ix := range []store.Index{store.GSI1, store.GSI2} {
		space := indexSpace(ix)
		err := r.db.visit(ctx, []byte{space}, []byte{space + 1}, func(key, _ []byte) error {
			k, ok := entryOf(key)
			if !ok {
				return errItemKey(key)
			}
			return r.repairEntry(ctx, slices.Clone(key), ix, k)
		})
		if err != nil {
			return err
		}
	}
	return r.db.visit(ctx, []byte{spaceItem}, []byte{spaceItem + 1}, func(key, value []byte) error {
		k, ok := cutKey(key[1:])
		if !ok {
			return errItemKey(key)
		}
		return r.addMissingEntries(ctx, k)
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
func (r *repair) repairEntry(ctx context.Context, key []byte, ix store.Index, k store.Key) error {
	held := r.items.locks.lock([]store.Key{k})
	defer r.items.locks.unlock(held)
	if err := r.items.resolve(ctx, held); err != nil {
		return err
	}
	data, err := get(r.db.DB, itemKey(k))
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
	batch := r.db.NewBatch()
	if err := batch.Delete(key, nil); err != nil {
		return closing(err, batch)
	}
	return r.items.commit(ctx, held, nil, batch)
}

func (r *repair) addMissingEntries(ctx context.Context, k store.Key) error {
	held := r.items.locks.lock([]store.Key{k})
	defer r.items.locks.unlock(held)
	if err := r.items.resolve(ctx, held); err != nil {
		return err
	}
	data, err := get(r.db.DB, itemKey(k))
	if err != nil || data == nil {
		return err
	}
	it, err := decodeItem(k, data)
	if err != nil {
		return err
	}
	batch := r.db.NewBatch()
	for _, ix := range []store.Index{store.GSI1, store.GSI2} {
		in := it.In(ix)
		if in.IsZero() {
			continue
		}
		key := indexKey(ix, in, k)
		_, closer, err := r.db.Get(key)
		if errors.Is(err, pebble.ErrNotFound) {
			err = batch.Set(key, nil, nil)
		} else if err == nil {
			err = closer.Close()
		}
		if err != nil {
			return closing(err, batch)
		}
	}
	return r.items.commit(ctx, held, nil, batch)
}

// demoteOverlapping restores the rule that chunks of level 1 are disjoint, in the series of a lost
// range.
//
// If the deletion of a merged chunk was lost, the chunk reappears, and overlaps others. Of two overlapping
// chunks, the later one is moved to level 0, where copies of readings are harmless.
func (r *repair) demoteOverlapping(ctx context.Context, l *lost) (err error) {
	from, to, ok := l.bounded(spaceChunk)
	if !ok {
		return nil
	}
	// The range is extended to whole series at both ends.
	if k, ok := parseChunkKey(from); ok {
		from = appendSeriesSpace(nil, k.number, k.series)
	}
	if k, ok := parseChunkKey(to); ok {
		to = after(appendSeriesSpace(nil, k.number, k.series))
	}
	r.catalog.mu.Lock() // so that no compaction is committed meanwhile
	defer r.catalog.mu.Unlock()
	batch := r.db.NewBatch()
	defer func() { err = closing(err, batch) }()
	var space []byte
	var reach int64
	err = r.db.visit(ctx, from, to, func(key, value []byte) error {
		k, ok := parseChunkKey(key)
		h, err := chunk.ReadHeader(value)
		if !ok || err != nil || k.level != level1 {
			return nil //nolint:nilerr // a read of the chunk reports the damage
		}
		if own := key[:len(key)-chunkKeySuffix]; !bytes.Equal(own, space) {
			space, reach = slices.Clone(own), -1
		}
		if h.MinTime > reach { // chunks that share an event time may have the same readings
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
	return r.db.commit(batch)
}
