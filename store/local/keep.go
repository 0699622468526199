package local

import (
	"context"
	"time"

	"github.com/varvedb/varve/bucket"
	"github.com/varvedb/varve/store"
)

// Tables implements store.Catalog.
func (s *Store) Tables(ctx context.Context, f store.Filter) ([]store.Info, error) {
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.leave()
	infos, numbers, packed := s.list(&f)
	if !f.Details {
		return infos, nil
	}
	for i, number := range numbers {
		space := chunkSpace(number)
		bytes, err := s.db.EstimateDiskUsage(space, after(space))
		if err != nil {
			return nil, err
		}
		if bytes > 0 {
			infos[i].Bytes += int64(bytes)
		} else {
			infos[i].Bytes += packed[i] // not written to its place yet
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
		if f.SkipEmpty && t.readings() == 0 || !f.Any && !contains(f.Prefixes, t.Prefix) {
			continue
		}
		infos = append(infos, store.Info{
			Table: t.Table, Status: store.Active, Retired: t.record.Retired,
			Tier: t.record.Tier, Created: t.record.Created, Hold: t.record.Hold, Owned: true,
			Readings: t.readings(), Bytes: t.heads[0].bytes + t.heads[1].bytes,
		})
		numbers = append(numbers, t.number)
		packed = append(packed, t.record.Bytes)
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
func (s *Store) Create(ctx context.Context, t bucket.Table, tier store.Tier) (err error) {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.leave()
	s.catalog.Lock()
	defer s.catalog.Unlock()
	s.mu.RLock()
	there := s.tables.byName[t] != nil
	s.mu.RUnlock()
	if there {
		return nil
	}
	if err := s.space.check(); err != nil {
		return err
	}
	tb := newTable(t)
	tb.number = s.nextTable
	tb.record = tableRecord{Number: tb.number, Tier: tier, Created: s.opts.Now().UTC()}
	s.nextTable++
	batch := s.db.NewBatch()
	defer func() { err = closing(err, batch) }()
	if err := tb.record.put(batch, t); err != nil {
		return err
	}
	if err := s.commit(batch); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tables.add(tb)
	return nil
}

// change changes a table's record, durably, unless do fails.
func (s *Store) change(ctx context.Context, t bucket.Table, do func(*tableRecord) error) (err error) {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.leave()
	s.catalog.Lock()
	defer s.catalog.Unlock()
	s.mu.RLock()
	tb, err := s.table(t)
	s.mu.RUnlock()
	if err != nil {
		return err
	}
	changed := tb.record
	if err := do(&changed); err != nil {
		return err
	}
	batch := s.db.NewBatch()
	defer func() { err = closing(err, batch) }()
	if err := changed.put(batch, t); err != nil {
		return err
	}
	if err := s.commit(batch); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	tb.record = changed
	return nil
}

// Tune implements store.Keeper. A table that has become cold is packed, in the
// background.
func (s *Store) Tune(ctx context.Context, t bucket.Table, tier store.Tier) error {
	if err := s.change(ctx, t, func(r *tableRecord) error { r.Tier = tier; return nil }); err != nil {
		return err
	}
	if tier == store.Cold {
		select {
		case s.cold <- t:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-s.background.Done():
		}
	}
	return nil
}

// Retire implements store.Keeper.
func (s *Store) Retire(ctx context.Context, t bucket.Table, at time.Time) error {
	return s.change(ctx, t, func(r *tableRecord) error {
		if err := store.Retirable(r.info(t)); err != nil {
			return err
		}
		r.Retired = at.UTC()
		return nil
	})
}

// Restore implements store.Keeper.
func (s *Store) Restore(ctx context.Context, t bucket.Table) error {
	return s.change(ctx, t, func(r *tableRecord) error { r.Retired = time.Time{}; return nil })
}

// Hold implements store.Keeper.
func (s *Store) Hold(ctx context.Context, t bucket.Table, reason string) error {
	return s.change(ctx, t, func(r *tableRecord) error { r.Hold = reason; return nil })
}

// Drop implements store.Keeper. When it returns, the table is gone; its disk is
// given back soon after.
func (s *Store) Drop(ctx context.Context, t bucket.Table) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.leave()
	number, err := s.drop(t)
	if err != nil {
		return err
	}
	select {
	case s.reclaim <- number:
	case <-ctx.Done():
		// The table is dropped; its disk is given back in time all the same.
	case <-s.background.Done():
	}
	return nil
}

func (s *Store) drop(t bucket.Table) (number uint32, err error) {
	s.catalog.Lock()
	defer s.catalog.Unlock()
	s.mu.RLock()
	tb, err := s.table(t)
	s.mu.RUnlock()
	if err != nil {
		return 0, err
	}
	if err := store.Droppable(tb.record.info(t)); err != nil {
		return 0, err
	}
	batch := s.db.NewBatch()
	defer func() { err = closing(err, batch) }()
	space := chunkSpace(tb.number)
	if err := batch.Delete(tableKey(t), nil); err != nil {
		return 0, err
	}
	if err := batch.DeleteRange(space, after(space), nil); err != nil {
		return 0, err
	}
	if err := s.commit(batch); err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	tb.dropped = true
	s.tables.remove(tb)
	s.tails -= len(tb.tails)
	return tb.number, nil
}

// reclaimLoop gives back the disk of dropped tables.
func (s *Store) reclaimLoop() {
	for {
		select {
		case <-s.background.Done():
			return
		case number := <-s.reclaim:
			space := chunkSpace(number)
			if err := s.db.Compact(s.background, space, after(space), false); err != nil && s.background.Err() == nil {
				s.opts.Events.Failed("give back the disk of a dropped table", err)
			}
		}
	}
}
