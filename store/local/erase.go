package local

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/store"
)

// eraser implements store.Eraser.
//
// If the series has readings in memory, a flush first moves all readings from the journal and
// memory to chunks. Flushed segments are removed before chunks are rewritten, so that no replay
// returns an erased reading. The chunks are rewritten in one batch, which is durable before Erase
// returns. Then Pebble merges the files with keys of the series, so that no file has the old
// chunks. Pebble deletes the merged files when the reads that use them end. Writes continue meanwhile.
type eraser struct {
	db        *database
	mem       *memory
	flusher   *flusher
	compactor *compactor
}

// Erase implements store.Eraser.
func (er *eraser) Erase(ctx context.Context, e store.Erasure) (erased int64, err error) {
	if err := er.db.life.enter(ctx); err != nil {
		return 0, err
	}
	defer er.db.life.leave()
	t, err := er.erasable(e.Table)
	if err != nil {
		return 0, err
	}
	err = er.flusher.runExclusive(ctx, func() error {
		if !er.isInMemory(t, e.Series) {
			return er.flusher.removeFlushed(er.db.life.background)
		}
		return er.flusher.flush(er.db.life.background) // with ctx, a canceled flush would count as failed
	})
	if err != nil {
		return 0, er.failed(e, err)
	}
	if erased, err = er.eraseChunks(t, e); err != nil {
		return 0, er.failed(e, err)
	}
	return erased, er.failed(e, er.purge(ctx, appendSeriesSpace(nil, t.number, e.Series), erased))
}

// EraseTable erases readings of all series of a table. It ignores the series of the erasure. It flushes and
// merges files once, which takes about as long as Erase needs for one series.
func (er *eraser) EraseTable(ctx context.Context, e store.Erasure) (erased int64, err error) {
	if err := er.db.life.enter(ctx); err != nil {
		return 0, err
	}
	defer er.db.life.leave()
	t, err := er.erasable(e.Table)
	if err != nil {
		return 0, err
	}
	err = er.flusher.runExclusive(ctx, func() error { return er.flusher.flush(er.db.life.background) })
	if err != nil {
		return 0, err
	}
	space := chunkSpace(t.number)
	if err := er.db.ledger.find(space, after(space)).err(); err != nil {
		return 0, damaged(err, e.Table, varve.Series{})
	}
	e.Series = varve.Series{}
	for {
		next, found, err := er.compactor.nextSeries(t, e.Series)
		if err == nil && ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		if err != nil {
			return erased, er.failed(e, err)
		}
		if !found {
			return erased, er.failed(e, er.purge(ctx, space, erased))
		}
		e.Series = next
		n, err := er.eraseChunks(t, e)
		if err != nil {
			return erased, er.failed(e, err)
		}
		erased += n
	}
}

// erasable returns the state of a table. It fails if readings of the table must not be erased.
func (er *eraser) erasable(in grid.Table) (*table, error) {
	er.mem.mu.RLock()
	defer er.mem.mu.RUnlock()
	t, err := er.mem.table(in)
	if err != nil {
		return nil, err
	}
	return t, errors.Join(store.Erasable(t.record.info(in)), er.db.guard.CheckReserve())
}

// purge makes deletions durable, and merges the files with keys of a space.
//
// Files are also merged if no reading was found, because an earlier call may have ended before
// its merge. Compact first flushes the keys that Pebble has in memory.
func (er *eraser) purge(ctx context.Context, space []byte, erased int64) error {
	if erased > 0 {
		if err := er.db.makeDurable(ctx); err != nil {
			return err
		}
	}
	return er.db.Compact(ctx, space, after(space), false)
}

// isInMemory reports whether memtables have readings of a series in a table. If not, the journal can have
// such readings only in flushed segments, which removeFlushed removes.
func (er *eraser) isInMemory(t *table, s varve.Series) bool {
	i, shard := er.mem.mu.shardOf(s)
	shard.RLock()
	defer shard.RUnlock()
	b := t.buffers[i][s]
	return b != nil && (b.rows[0].Len() > 0 || b.rows[1].Len() > 0)
}

func (er *eraser) failed(e store.Erasure, err error) error {
	if err == nil {
		return nil
	}
	return damaged(fmt.Errorf("erase readings of %s in %s: %w", e.Series, e.Table, err), e.Table, e.Series)
}

// eraseChunks deletes the readings from chunks. It fails if chunks of the series may be lost,
// because lost chunks cannot be searched.
func (er *eraser) eraseChunks(t *table, e store.Erasure) (erased int64, err error) {
	c := er.compactor
	c.merging.Lock() // a merge must not read chunks that are deleted here
	defer c.merging.Unlock()
	cr, err := newChunkReader(c.db)
	if err != nil {
		return 0, err
	}
	defer func() { err = closing(err, cr.iter) }()
	cr.selectSeries(t, e.Series)
	if err := cr.intact(cr.prefix, after(cr.prefix)); err != nil {
		return 0, err
	}
	r := remover{
		compaction: compaction{chunkReader: cr, chunkWriter: newChunkWriter(c.catalog, c.db.NewBatch())},
		covers:     e.Covers, last: e.Window.To, permitted: store.Erasable,
	}
	defer func() { err = closing(err, r.batch) }()
	return c.removeReadings(t, &r)
}

// ErasureDelay implements store.Eraser. The delay is zero, because each write searches the current
// chunks.
func (er *eraser) ErasureDelay() time.Duration { return 0 }

// PurgeItems implements store.Eraser. A flush removes the segments that have the items, and Pebble
// merges the files with the partitions and the indexes.
func (er *eraser) PurgeItems(ctx context.Context, partitions []string) error {
	if err := er.db.life.enter(ctx); err != nil {
		return err
	}
	defer er.db.life.leave()
	if err := er.db.guard.CheckReserve(); err != nil {
		return err
	}
	err := er.flusher.runExclusive(ctx, func() error { return er.flusher.flush(er.db.life.background) })
	if err == nil {
		err = er.db.makeDurable(ctx)
	}
	for _, pk := range partitions {
		space := appendPart([]byte{spaceItem}, pk)
		if err == nil {
			err = er.db.Compact(ctx, space, after(space), false)
		}
	}
	if err == nil {
		err = er.db.Compact(ctx, []byte{spaceGSI1}, []byte{spaceGSI2 + 1}, false)
	}
	if err != nil {
		return fmt.Errorf("purge deleted items: %w", err)
	}
	return nil
}
