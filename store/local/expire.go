package local

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/local/chunk"
)

// DeleteExpired implements store.Expirer. It skips readings in memtables, and series with damaged
// chunks. A chunk that also has live readings is rewritten without the expired ones.
func (c *compactor) DeleteExpired(ctx context.Context, t grid.Table, cutoff func(varve.Series) time.Time, inUse func(event time.Time) bool) (deleted int64, err error) {
	if err := c.db.life.enter(ctx); err != nil {
		return 0, err
	}
	defer c.db.life.leave()
	c.mem.mu.RLock()
	tb, err := c.mem.table(t)
	c.mem.mu.RUnlock()
	if err != nil {
		return 0, err
	}
	after := varve.Series{}
	for {
		series, found, err := c.nextSeries(tb, after)
		if err != nil || !found {
			return deleted, err
		}
		if err := ctx.Err(); err != nil {
			return deleted, context.Cause(ctx)
		}
		n, err := c.expireSeries(tb, series, cutoff(series), inUse)
		deleted += n
		if err != nil && !isDamage(err) {
			return deleted, fmt.Errorf("delete expired readings of %s: %w", series, err)
		}
		after = series
	}
}

// nextSeries returns the first series after "previous" that has chunks in a table. If "previous" is
// zero, it returns the first series with chunks.
func (c *compactor) nextSeries(t *table, previous varve.Series) (next varve.Series, found bool, err error) {
	space := chunkSpace(t.number)
	end := after(space)
	if previous != (varve.Series{}) {
		space = after(appendSeriesSpace(nil, t.number, previous))
	}
	iter, err := c.db.NewIter(&pebble.IterOptions{LowerBound: space, UpperBound: end})
	if err != nil {
		return next, false, err
	}
	defer func() { err = closing(err, iter) }()
	if !iter.First() {
		return next, false, iter.Error()
	}
	next, err = seriesOf(iter.Key())
	return next, err == nil, err
}

// expireSeries deletes the expired readings in the chunks of a series, and returns how many.
func (c *compactor) expireSeries(t *table, series varve.Series, cutoff time.Time, inUse func(event time.Time) bool) (deleted int64, err error) {
	if cutoff.IsZero() {
		return 0, nil
	}
	c.merging.Lock() // a merge must not read chunks that are deleted here
	defer c.merging.Unlock()
	cr, err := newChunkReader(c.db)
	if err != nil {
		return 0, err
	}
	defer func() { err = closing(err, cr.iter) }()
	cr.selectSeries(t, series)
	if err := cr.intact(cr.prefix, after(cr.prefix)); err != nil {
		return 0, err
	}
	e := remover{
		compaction: compaction{chunkReader: cr, chunkWriter: newChunkWriter(c.catalog, c.db.NewBatch())},
		last:       cutoff, permitted: store.Expirable,
		covers: func(at, arrived time.Time) bool {
			return !at.After(cutoff) && !arrived.After(cutoff) && (inUse == nil || !inUse(at))
		},
	}
	defer func() { err = closing(err, e.batch) }()
	return c.removeReadings(t, &e)
}

// remover deletes readings of one series from its chunks.
type remover struct {
	compaction
	covers    func(at, arrived time.Time) bool // reports whether a reading is to be deleted
	last      time.Time                        // no reading with a later event time is deleted
	permitted func(*store.Info) error          // returns an error if the table must not be changed
	deleted   int64                            // number of deleted readings
	rewritten bool                             // whether the previous chunk of level 1 was rewritten
}

// removeReadings deletes the covered readings from the chunks of both levels, and returns how many.
// The caller has locked compactor.merging.
func (c *compactor) removeReadings(t *table, e *remover) (deleted int64, err error) {
	for _, level := range []byte{level0, level1} {
		if err := e.removeFromLevel(level); err != nil {
			return 0, err
		}
	}
	if e.deleted == 0 {
		return 0, nil
	}
	if err := c.commitRemoved(t, e); err != nil {
		return 0, err
	}
	return e.deleted, nil
}

// removeFromLevel adds the deletion of the covered readings in one level to the batch.
//
// Chunks of level 1 with the same first event time are in the order of their numbers, and a rewritten
// chunk has a new number. So a chunk that begins at the last event time of a rewritten one is rewritten,
// too.
func (e *remover) removeFromLevel(level byte) error {
	first := appendChunkKey(nil, e.chunkReader.prefix, level, 0, 0)
	for ok := e.iter.SeekGE(first); ok && e.isAtLevel(level); ok = e.iter.Next() {
		h, err := e.header()
		if err != nil {
			return err
		}
		follows := level == level1 && e.rewritten && h.MinTime == e.chunkWriter.last
		if !follows && time.Unix(0, h.MinTime).After(e.last) {
			if level == level1 {
				break // the next chunks of level 1 begin even later
			}
			continue
		}
		value, err := e.iter.ValueAndErr()
		if err != nil {
			return err
		}
		if err := e.removeFromChunk(level, value, follows); err != nil {
			return err
		}
	}
	return e.iter.Error()
}

// removeFromChunk rewrites the current chunk without the covered readings. If no reading remains,
// it deletes the chunk. If no reading is covered, it rewrites the chunk only if "always" is set.
func (e *remover) removeFromChunk(level byte, data []byte, always bool) error {
	var c chunk.Chunk
	if err := e.reportBroken(c.Decode(e.series, data)); err != nil {
		return err
	}
	stays := func(i int) bool { return !e.covers(time.Unix(0, c.Time(i)), time.UnixMilli(c.Arrived(i))) }
	covered := 0
	for i := range c.Len() {
		if !stays(i) {
			covered++
		}
	}
	if covered == 0 && !always {
		e.rewritten = false
		return nil
	}
	if err := e.remove(data); err != nil {
		return err
	}
	e.deleted += int64(covered)
	e.begin(e.chunkReader.prefix, level, e.chunkReader.db.opts.ChunkReadings)
	var r varve.Reading
	var arena chunk.Arena
	for i := range c.Len() {
		if i%restEvery == 0 {
			e.pace.Rest()
		}
		if !stays(i) {
			continue
		}
		if err := c.Fill(i, &r, &arena); err != nil {
			return err
		}
		e.rewritten = true
		if err := e.add(&r, c.Derived(i)); err != nil {
			return err
		}
	}
	return e.endChunk()
}

// commitRemoved commits the deletions, unless the table was dropped or must not be changed.
func (c *compactor) commitRemoved(t *table, e *remover) error {
	c.catalog.mu.Lock()
	defer c.catalog.mu.Unlock()
	if t.dropped {
		e.deleted = 0
		return nil
	}
	if err := e.permitted(t.record.info(t.Table)); err != nil {
		return err
	}
	stats := t.stats
	stats.bytes += e.bytes - e.removed
	stats.readings -= e.deleted
	if err := errors.Join(stats.put(e.batch, t.number), putLastChunk(e.batch, c.catalog.lastChunk.Load())); err != nil {
		return err
	}
	changes := c.db.readings.Counter(e.series)
	changes.Begin()
	defer changes.End()
	if err := c.db.commit(e.batch); err != nil {
		return err
	}
	c.mem.mu.Lock()
	defer c.mem.mu.Unlock()
	t.stats = stats
	epoch := c.mem.epoch.Add(1) // a reader that found no series buffer must not cache its earlier result
	if b := t.buffers[c.mem.mu.indexOf(e.series)][e.series]; b != nil {
		// The buffer's facts about chunks are out of date.
		b.flushedKnown, b.epoch = false, epoch
	}
	return nil
}
