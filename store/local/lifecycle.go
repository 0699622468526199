package local

import (
	"context"
	"errors"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/store"
	"time"
)

// Tables implements store.Catalog.
func (s *Store) Tables(ctx context.Context, f store.Filter) ([]store.Info, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.leave()
	if err := s.catalogIntact(); err != nil {
		return nil, err
	}
	infos, numbers, packed := s.list(&f)
	if !f.Details {
		return infos, nil
	}
	for i, number := range numbers {
		if infos[i].Readings == 0 {
			continue // the estimate may include blocks of the neighbors
		}
		space := chunkSpace(number)
		bytes, err := s.db.EstimateDiskUsage(space, after(space))
		if isDamage(err) {
			bytes, err = 0, nil // its uncompacted size is a good estimate
		}
		if err != nil {
			return nil, err
		}
		if bytes > 0 {
			infos[i].Bytes += int64(bytes)
		} else {
			infos[i].Bytes += packed[i] // not flushed by Pebble yet
		}
	}
	return infos, nil
}

func (s *Store) list(f *store.Filter) (infos []store.Info, numbers []uint32, packed []int64) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	first, last := f.Window.From.Unix(), f.Window.To
	for _, t := range s.tables.sorted {
		if t.End <= first || !time.Unix(t.Start, 0).Before(last) || !f.Window.From.Before(last) {
			continue
		}
		if f.SkipEmpty && t.readings() == 0 && !s.hasChunks(t) || !f.Any && !contains(f.Prefixes, t.Prefix) {
			continue
		}
		infos = append(infos, store.Info{
			Table: t.Table, Status: store.Active, Retired: t.record.Retired,
			Tier: t.record.Tier, Created: t.record.Created, Hold: t.record.Hold, Owned: true,
			Readings: t.readings(), Bytes: t.memtables[0].bytes + t.memtables[1].bytes,
		})
		numbers = append(numbers, t.number)
		packed = append(packed, t.stats.bytes)
	}
	return infos, numbers, packed
}

func contains(list []string, s string) bool {
	for _, l := range list {
		if l == s {
			return true
		}
	}
	return false
}

// Create implements store.Creator.
func (s *Store) Create(ctx context.Context, t grid.Table, tier store.Tier) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.leave()
	unlock, err := s.lockCatalog(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	s.mu.RLock()
	there := s.tables.byName[t] != nil
	s.mu.RUnlock()
	if there {
		return nil
	}
	if err := errors.Join(s.catalogIntact(), s.guard.checkReserve()); err != nil {
		return err
	}
	tb := newTable(t)
	tb.number = s.nextTable
	tb.record = tableRecord{Number: tb.number, Tier: tier, Created: s.opts.Now().UTC()}
	s.nextTable++
	batch := s.db.NewBatch()
	if err := errors.Join(tb.record.put(batch, t), putNextTable(batch, s.nextTable)); err != nil {
		return closing(err, batch)
	}
	return s.commitCatalog(ctx, batch, func() { s.tables.add(tb) })
}

// change changes the record of a table, durably, unless do fails.
func (s *Store) change(ctx context.Context, t grid.Table, do func(*tableRecord) error) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.leave()
	unlock, err := s.lockCatalog(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	s.mu.RLock()
	tb, err := s.table(t)
	s.mu.RUnlock()
	if err != nil {
		return err
	}
	if err := s.catalogIntact(); err != nil {
		return err
	}
	changed := tb.record
	if err := errors.Join(s.guard.checkReserve(), do(&changed)); err != nil {
		return err
	}
	batch := s.db.NewBatch()
	if err := changed.put(batch, t); err != nil {
		return closing(err, batch)
	}
	return s.commitCatalog(ctx, batch, func() { tb.record = changed })
}

// Tune implements store.Lifecycle. A table that becomes cold is compacted in the background.
func (s *Store) Tune(ctx context.Context, t grid.Table, tier store.Tier) error {
	if err := s.change(ctx, t, func(r *tableRecord) error { r.Tier = tier; return nil }); err != nil {
		return err
	}
	if tier == store.Cold {
		select {
		case s.coldTables <- t:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-s.background.Done():
		}
	}
	return nil
}

// Retire implements store.Lifecycle.
func (s *Store) Retire(ctx context.Context, t grid.Table, at time.Time) error {
	return s.change(ctx, t, func(r *tableRecord) error {
		if err := store.Retirable(r.info(t)); err != nil {
			return err
		}
		r.Retired = at.UTC()
		return nil
	})
}

// Restore implements store.Lifecycle.
func (s *Store) Restore(ctx context.Context, t grid.Table) error {
	return s.change(ctx, t, func(r *tableRecord) error { r.Retired = time.Time{}; return nil })
}

// Hold implements store.Lifecycle.
func (s *Store) Hold(ctx context.Context, t grid.Table, reason string) error {
	return s.change(ctx, t, func(r *tableRecord) error { r.Hold = reason; return nil })
}

// Drop implements store.Lifecycle. Its disk space is released soon after it returns.
func (s *Store) Drop(ctx context.Context, t grid.Table) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.leave()
	number, err := s.drop(ctx, t)
	if err != nil {
		return err
	}
	select {
	case s.dropped <- number:
	case <-ctx.Done():
		// The table is dropped. Its disk space is released later in any case.
	case <-s.background.Done():
	}
	return nil
}

func (s *Store) drop(ctx context.Context, t grid.Table) (number uint32, err error) {
	unlock, err := s.lockCatalog(ctx)
	if err != nil {
		return 0, err
	}
	defer unlock()
	s.mu.RLock()
	tb, err := s.table(t)
	s.mu.RUnlock()
	if err != nil {
		return 0, err
	}
	if err := errors.Join(s.catalogIntact(), store.Droppable(tb.record.info(t)), s.guard.checkReserve()); err != nil {
		return 0, err
	}
	batch := s.db.NewBatch()
	space := chunkSpace(tb.number)
	err = errors.Join(batch.Delete(tableKey(t), nil), batch.Delete(statsKey(tb.number), nil), batch.DeleteRange(space, after(space), nil))
	if err != nil {
		return 0, closing(err, batch)
	}
	err = s.commitCatalog(ctx, batch, func() {
		tb.dropped = true
		s.tables.remove(tb)
		s.bufferCount -= len(tb.buffers)
	})
	if err != nil {
		return 0, err
	}
	// The losses of a dropped table are irrelevant.
	return tb.number, s.ledger.remove(space, after(space))
}

// reclaimLoop releases the disk space of dropped tables.
func (s *Store) reclaimLoop() {
	for {
		select {
		case <-s.background.Done():
			return
		case number := <-s.dropped:
			space := chunkSpace(number)
			if err := s.db.Compact(s.background, space, after(space), false); err != nil && s.background.Err() == nil {
				s.opts.Events.Failed("give back the disk of a dropped table", err)
			}
		}
	}
}
