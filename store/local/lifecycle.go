package local

import (
	"context"
	"errors"
	"time"

	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/store"
)

// lifecycle lists, creates, changes and drops tables.
type lifecycle struct {
	db        *database
	mem       *memory
	catalog   *catalog
	compactor *compactor
	dropped   chan uint32 // numbers of dropped tables, whose disk space is to be released
}

// Tables implements store.Catalog.
func (l *lifecycle) Tables(ctx context.Context, f store.Filter) ([]store.Info, error) {
	if err := l.db.life.enter(ctx); err != nil {
		return nil, err
	}
	defer l.db.life.leave()
	if err := l.db.ledger.catalogIntact(); err != nil {
		return nil, err
	}
	infos, numbers, packed := l.list(&f)
	if !f.Details {
		return infos, nil
	}
	for i, number := range numbers {
		if infos[i].Readings == 0 {
			continue // the estimate may include data of other tables in the same files
		}
		space := chunkSpace(number)
		bytes, err := l.db.EstimateDiskUsage(space, after(space))
		if isDamage(err) {
			bytes, err = 0, nil // the size before compression is used instead
		}
		if err != nil {
			return nil, err
		}
		if bytes > 0 {
			infos[i].Bytes += int64(bytes)
		} else {
			infos[i].Bytes += packed[i] // Pebble has not flushed the chunks yet
		}
	}
	return infos, nil
}

func (l *lifecycle) list(f *store.Filter) (infos []store.Info, numbers []uint32, packed []int64) {
	l.mem.mu.RLock()
	defer l.mem.mu.RUnlock()
	first, last := f.Window.From.Unix(), f.Window.To
	for _, t := range l.mem.tables.sorted {
		if t.End <= first || !time.Unix(t.Start, 0).Before(last) || !f.Window.From.Before(last) {
			continue
		}
		if f.SkipEmpty && t.readings() == 0 && !l.db.ledger.hasChunks(t) || !f.Any && !contains(f.Prefixes, t.Prefix) {
			continue
		}
		infos = append(infos, store.Info{
			Table: t.Table, Status: store.Active, Retired: t.record.Retired,
			Tier: t.record.Tier, Created: t.record.Created, Hold: t.record.Hold, Owned: true,
			Readings: t.readings(), Bytes: t.memtables[0].bytes.Load() + t.memtables[1].bytes.Load(),
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
func (l *lifecycle) Create(ctx context.Context, t grid.Table, tier store.Tier) error {
	if err := l.db.life.enter(ctx); err != nil {
		return err
	}
	defer l.db.life.leave()
	unlock, err := l.catalog.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	l.mem.mu.RLock()
	there := l.mem.tables.byName[t] != nil
	l.mem.mu.RUnlock()
	if there {
		return nil
	}
	if err := errors.Join(l.db.ledger.catalogIntact(), l.db.guard.CheckReserve()); err != nil {
		return err
	}
	tb := newTable(t, len(l.mem.mu.shards))
	tb.number = l.catalog.nextTable
	tb.record = tableRecord{Number: tb.number, Tier: tier, Created: l.db.opts.Now().UTC()}
	l.catalog.nextTable++
	batch := l.db.NewBatch()
	if err := errors.Join(tb.record.put(batch, t), putNextTable(batch, l.catalog.nextTable)); err != nil {
		return closing(err, batch)
	}
	return l.catalog.commit(ctx, batch, func() { l.mem.tables.add(tb) })
}

// change calls the function "do" with the record of a table, and stores the changed record durably. If
// "do" fails, change returns its error, and the stored record stays as it was.
func (l *lifecycle) change(ctx context.Context, t grid.Table, do func(*tableRecord) error) error {
	if err := l.db.life.enter(ctx); err != nil {
		return err
	}
	defer l.db.life.leave()
	unlock, err := l.catalog.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	l.mem.mu.RLock()
	tb, err := l.mem.table(t)
	l.mem.mu.RUnlock()
	if err != nil {
		return err
	}
	if err := l.db.ledger.catalogIntact(); err != nil {
		return err
	}
	changed := tb.record
	if err := errors.Join(l.db.guard.CheckReserve(), do(&changed)); err != nil {
		return err
	}
	batch := l.db.NewBatch()
	if err := changed.put(batch, t); err != nil {
		return closing(err, batch)
	}
	return l.catalog.commit(ctx, batch, func() { tb.record = changed })
}

// Tune implements store.Lifecycle. A table that becomes cold is compacted in the background.
func (l *lifecycle) Tune(ctx context.Context, t grid.Table, tier store.Tier) error {
	if err := l.change(ctx, t, func(r *tableRecord) error { r.Tier = tier; return nil }); err != nil {
		return err
	}
	if tier == store.Cold {
		select {
		case l.compactor.coldTables <- t:
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-l.db.life.background.Done():
		}
	}
	return nil
}

// Retire implements store.Lifecycle.
func (l *lifecycle) Retire(ctx context.Context, t grid.Table, at time.Time) error {
	return l.change(ctx, t, func(r *tableRecord) error {
		if err := store.Retirable(r.info(t)); err != nil {
			return err
		}
		r.Retired = at.UTC()
		return nil
	})
}

// Restore implements store.Lifecycle.
func (l *lifecycle) Restore(ctx context.Context, t grid.Table) error {
	return l.change(ctx, t, func(r *tableRecord) error { r.Retired = time.Time{}; return nil })
}

// Hold implements store.Lifecycle.
func (l *lifecycle) Hold(ctx context.Context, t grid.Table, reason string) error {
	return l.change(ctx, t, func(r *tableRecord) error { r.Hold = reason; return nil })
}

// Drop implements store.Lifecycle. The disk space of the table is released in the background.
func (l *lifecycle) Drop(ctx context.Context, t grid.Table) error {
	if err := l.db.life.enter(ctx); err != nil {
		return err
	}
	defer l.db.life.leave()
	number, err := l.dropTable(ctx, t)
	if err != nil {
		return err
	}
	select {
	case l.dropped <- number:
	case <-ctx.Done():
		// The table is dropped. Pebble releases its disk space later in any case.
	case <-l.db.life.background.Done():
	}
	return nil
}

func (l *lifecycle) dropTable(ctx context.Context, t grid.Table) (number uint32, err error) {
	unlock, err := l.catalog.lock(ctx)
	if err != nil {
		return 0, err
	}
	defer unlock()
	l.mem.mu.RLock()
	tb, err := l.mem.table(t)
	l.mem.mu.RUnlock()
	if err != nil {
		return 0, err
	}
	if err := errors.Join(l.db.ledger.catalogIntact(), store.Droppable(tb.record.info(t)), l.db.guard.CheckReserve()); err != nil {
		return 0, err
	}
	batch := l.db.NewBatch()
	space := chunkSpace(tb.number)
	err = errors.Join(batch.Delete(tableKey(t), nil), batch.Delete(statsKey(tb.number), nil), batch.DeleteRange(space, after(space), nil))
	if err != nil {
		return 0, closing(err, batch)
	}
	err = l.catalog.commit(ctx, batch, func() {
		tb.dropped = true
		l.mem.tables.remove(tb)
		l.mem.bufferCount.Add(-int64(tb.bufferCount()))
		l.mem.epoch.Add(1) // so that no reading of this table is cached in a later one of the same name
	})
	if err != nil {
		return 0, err
	}
	// The losses of a dropped table are irrelevant.
	return tb.number, l.db.ledger.remove(space, after(space))
}

func (l *lifecycle) reclaimLoop() {
	for {
		select {
		case <-l.db.life.background.Done():
			return
		case number := <-l.dropped:
			space := chunkSpace(number)
			if err := l.db.Compact(l.db.life.background, space, after(space), false); err != nil && l.db.life.background.Err() == nil {
				l.db.opts.Events.Failed("give back the disk of a dropped table", err)
			}
		}
	}
}
