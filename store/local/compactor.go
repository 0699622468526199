package local

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/cockroachdb/pebble/v2"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/store/local/chunk"
)

// Level 1 contains disjoint chunks of a series, so a read seeks to its window. Chunks of level 0
// are small, or begin before the end of level 1, and may overlap. When a series has several of
// them, a compaction merges them into level 1.

// compactor merges chunks of level 0 into level 1, in the goroutine of the flusher. It also deletes
// expired and erased readings from chunks, in the goroutine of the caller.
type compactor struct {
	db         *database
	mem        *memory
	catalog    *catalog
	merging    sync.Mutex      // locked while the chunks of a series are rewritten
	coldTables chan grid.Table // tables to be compacted completely
}

// compactBuffers merges level 0 of each flushed series that has too many chunks there.
func (c *compactor) compactBuffers(ctx context.Context, done []flushedBuffer) error {
	for _, m := range done {
		s := &c.mem.mu.shards[m.buffer.shard]
		s.RLock()
		due := m.buffer.flushedKnown && m.buffer.level0 >= c.db.opts.MaxLevel0
		s.RUnlock()
		if !due {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := c.compactSeries(ctx, m.buffer.table, m.buffer.Series); isDamage(err) {
			continue // this series is merged after the damage is accepted
		} else if err != nil {
			return fmt.Errorf("merge chunks of %s in %s: %w", m.buffer.Series, m.buffer.table.Table, err)
		}
	}
	return nil
}

// coldTable is a table whose chunks of level 0 are being merged.
type coldTable struct {
	*table
	series []varve.Series // series that are not merged yet
}

// beginTable returns a cold table with the series that have chunks of level 0.
func (c *compactor) beginTable(t grid.Table) (cold coldTable, err error) {
	c.mem.mu.RLock()
	cold.table = c.mem.tables.byName[t]
	c.mem.mu.RUnlock()
	if cold.table == nil {
		return cold, nil // the table was dropped meanwhile
	}
	if cold.series, err = c.level0Series(cold.table); err != nil {
		return coldTable{}, fmt.Errorf("%s: %w", t, err)
	}
	return cold, nil
}

// compactNext merges the chunks of level 0 of the next series of a cold table. It skips a series
// with damaged chunks. After any other error, it abandons the table.
func (c *compactor) compactNext(ctx context.Context, cold *coldTable) error {
	series := cold.series[0]
	cold.series = cold.series[1:]
	err := c.compactSeries(ctx, cold.table, series)
	if err == nil || isDamage(err) {
		return nil
	}
	cold.series = nil
	return fmt.Errorf("%s: merge chunks of %s: %w", cold.Table, series, err)
}

func (c *compactor) level0Series(t *table) (found []varve.Series, err error) {
	space := chunkSpace(t.number)
	iter, err := c.db.NewIter(&pebble.IterOptions{LowerBound: space, UpperBound: after(space)})
	if err != nil {
		return nil, err
	}
	defer func() { err = closing(err, iter) }()
	for ok := iter.First(); ok; {
		key := iter.Key()
		series, err := seriesOf(key)
		if err != nil {
			return nil, err
		}
		own := slices.Clone(key[:len(key)-chunkKeySuffix])
		if levelOf(key, own) == level0 {
			found = append(found, series)
		}
		ok = iter.SeekGE(after(own))
	}
	return found, iter.Error()
}

// compactSeries merges the chunks of level 0 of a series in a table into level 1. Each reading is
// added to the last chunk of level 1 that begins at or before it, or else to the first chunk.
func (c *compactor) compactSeries(ctx context.Context, t *table, series varve.Series) (err error) {
	c.merging.Lock()
	defer c.merging.Unlock()
	cr, err := newChunkReader(c.db)
	if err != nil {
		return err
	}
	defer func() { err = closing(err, cr.iter) }()
	cr.selectSeries(t, series)
	if err := cr.intact(cr.prefix, after(cr.prefix)); err != nil {
		return err
	}
	m := compaction{chunkReader: cr, chunkWriter: newChunkWriter(c.catalog, c.db.NewBatch())}
	defer func() { err = closing(err, m.batch) }()
	if err := m.readLevel0(); err != nil || len(m.level0) == 0 {
		return err
	}
	for at := m.firstFrom(0); at >= 0; {
		end, err := m.mergeUnit(ctx, at)
		if err != nil {
			return err
		}
		if end == math.MaxInt64 {
			break
		}
		at = m.firstFrom(end)
	}
	return c.commit(t, series, m.batch, m.bytes-m.removed)
}

// commit applies a merge, unless the table was dropped meanwhile. The merge may become durable
// later, because the old chunks remain until then.
func (c *compactor) commit(t *table, series varve.Series, batch *pebble.Batch, grown int64) error {
	c.catalog.mu.Lock()
	defer c.catalog.mu.Unlock()
	if t.dropped {
		return nil
	}
	stats := t.stats
	stats.bytes += grown
	if err := errors.Join(stats.put(batch, t.number), putLastChunk(batch, c.catalog.lastChunk.Load())); err != nil {
		return err
	}
	if err := c.db.commit(batch); err != nil {
		return err
	}
	c.mem.mu.Lock()
	defer c.mem.mu.Unlock()
	t.stats = stats
	if b := t.buffers[c.mem.mu.indexOf(series)][series]; b != nil {
		b.level0 = 0
	}
	return nil
}

// compaction merges level 0 of one series into level 1.
type compaction struct {
	*chunkReader
	chunkWriter
	removed int64 // size of the keys and contents of the deleted chunks, in bytes
}

// remove adds the deletion of the iterator's current chunk to the batch, where data is the content
// of the chunk.
func (m *compaction) remove(data []byte) error {
	m.removed += int64(len(m.iter.Key()) + len(data))
	return m.batch.Delete(m.iter.Key(), nil)
}

// readLevel0 decodes the chunks of level 0, and adds their deletion to the batch.
func (m *compaction) readLevel0() error {
	return m.eachLevel0(func(_ chunk.Header, data []byte) error {
		c := new(chunk.Chunk)
		if err := m.reportBroken(c.Decode(m.series, data)); err != nil {
			return err
		}
		m.level0 = append(m.level0, c)
		return m.remove(data)
	})
}

// firstFrom returns the first event time in level 0 at or after a time, or -1.
func (m *compaction) firstFrom(from int64) int64 {
	first := int64(-1)
	for _, c := range m.level0 {
		sp := span{first: from, last: math.MaxInt64}
		if i, to := sp.bounds(c); i < to && (first < 0 || c.Time(i) < first) {
			first = c.Time(i)
		}
	}
	return first
}

// mergeUnit rewrites one unit of level 1, with the readings of level 0 that belong to it. A unit is a run of
// chunks in which neighbors share an event time. The event time "from" selects the unit.
// Readings of level 0 from that time up to the next unit belong to it. The result is the start of the next
// unit, or math.MaxInt64 if none follows.
func (m *compaction) mergeUnit(ctx context.Context, from int64) (end int64, err error) {
	unit, end, err := m.unit(from)
	if err != nil {
		return 0, err
	}
	mg := merge{span: span{first: 0, last: math.MaxInt64}}
	for _, run := range runsOf(unit) {
		mg.cursors = append(mg.cursors, run.cursor(&mg.span))
	}
	late := span{first: from, last: end - 1}
	for _, run := range runsOf(m.level0) {
		mg.cursors = append(mg.cursors, run.cursor(&late))
	}
	m.begin(m.chunkReader.prefix, level1, m.chunkWriter.catalog.db.opts.ChunkReadings)
	var r varve.Reading
	var arena chunk.Arena
	for i := 0; ; i++ {
		if i%restEvery == 0 {
			if ctx.Err() != nil {
				return 0, context.Cause(ctx)
			}
			m.pace.Rest()
		}
		c, err := mg.nextCursor()
		if err != nil {
			return 0, err
		}
		if c == nil {
			return end, m.endChunk()
		}
		if err := c.rows.Fill(c.i, &r, &arena); err != nil {
			return 0, err
		}
		if err := m.add(&r, c.rows.Derived(c.i)); err != nil {
			return 0, err
		}
		c.next()
	}
}

// unit returns the chunks of the unit that an event time selects, and the start of the next unit;
// see mergeUnit. It adds the deletion of these chunks to the batch.
func (m *compaction) unit(from int64) (unit []*chunk.Chunk, end int64, err error) {
	// The event time selects the last chunk that starts at or before it, or else the first chunk.
	ok := m.iter.SeekLT(appendChunkKey(nil, m.chunkReader.prefix, level1, from+1, 0)) && m.isAtLevel(level1)
	if !ok && m.iter.Error() == nil {
		ok = m.seekLevel1First() && m.isAtLevel(level1)
	}
	// If earlier chunks share event times with the selected chunk, the unit begins with the first
	// of them.
	for ok {
		h, err := m.header()
		if err != nil {
			return nil, 0, err
		}
		if !m.iter.Prev() || !m.isAtLevel(level1) {
			if err := m.iter.Error(); err != nil {
				return nil, 0, err
			}
			m.seekLevel1First()
			break
		}
		before, err := m.header()
		if err != nil {
			return nil, 0, err
		}
		if before.MaxTime < h.MinTime {
			ok = m.iter.Next()
			break
		}
	}
	for ok = ok && m.iter.Valid(); ok && m.isAtLevel(level1); ok = m.iter.Next() {
		value, err := m.iter.ValueAndErr()
		if err != nil {
			return nil, 0, err
		}
		c := new(chunk.Chunk)
		if err := m.reportBroken(c.Decode(m.series, value)); err != nil {
			return nil, 0, err
		}
		if n := len(unit); n > 0 && unit[n-1].MaxTime < c.MinTime {
			return unit, c.MinTime, m.iter.Error()
		}
		unit = append(unit, c)
		if err := m.remove(value); err != nil {
			return nil, 0, err
		}
	}
	return unit, math.MaxInt64, m.iter.Error()
}

func (m *compaction) seekLevel1First() bool {
	return m.iter.SeekGE(appendChunkKey(nil, m.chunkReader.prefix, level1, 0, 0))
}
