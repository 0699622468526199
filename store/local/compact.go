package local

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/store/local/chunk"
)

// mergeTails merges the chunks of level 0 for series buffers that have too many of them.
func (s *Store) mergeTails(ctx context.Context, done []made) error {
	for _, m := range done {
		s.mu.RLock()
		due := m.tail.known && m.tail.smalls >= s.opts.MaxSmalls
		s.mu.RUnlock()
		if !due {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := s.mergeSeries(m.tail.table, m.tail.Series); isDamage(err) {
			continue // the rest is merged after the damage is accepted
		} else if err != nil {
			return fmt.Errorf("merge chunks of %s in %s: %w", m.tail.Series, m.tail.table.Table, err)
		}
	}
	return nil
}

// pack merges all chunks of level 0 in a table.
func (s *Store) pack(ctx context.Context, t grid.Table) error {
	s.mu.RLock()
	tb := s.tables.byName[t]
	s.mu.RUnlock()
	if tb == nil {
		return nil // dropped meanwhile
	}
	series, err := s.smallSeries(tb)
	if err != nil {
		return err
	}
	for _, sr := range series {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := s.mergeSeries(tb, sr); isDamage(err) {
			continue
		} else if err != nil {
			return fmt.Errorf("merge chunks of %s: %w", sr, err)
		}
	}
	return nil
}

// smallSeries lists the series with chunks of level 0 in a table.
func (s *Store) smallSeries(t *table) (found []varve.Series, err error) {
	space := chunkSpace(t.number)
	iter, err := s.db.NewIter(&pebble.IterOptions{LowerBound: space, UpperBound: after(space)})
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
		if levelOf(key, own) == levelSmall {
			found = append(found, series)
		}
		ok = iter.SeekGE(after(own))
	}
	return found, iter.Error()
}

// mergeSeries merges the chunks of level 0 of a series and table into level 1. Each reading is
// added to the chunk of level 1 that it follows, or to the first one.
func (s *Store) mergeSeries(t *table, series varve.Series) (err error) {
	f, err := newFinder(s)
	if err != nil {
		return err
	}
	defer func() { err = closing(err, f.iter) }()
	f.turn(t, series)
	if err := f.intact(f.space, after(f.space)); err != nil {
		return err
	}
	m := merger{finder: f, cutter: newCutter(s, s.db.NewBatch())}
	defer func() { err = closing(err, m.batch) }()
	if err := m.loadSmalls(); err != nil || len(m.smalls) == 0 {
		return err
	}
	for at := m.firstFrom(0); at >= 0; {
		end, err := m.mergeUnit(at)
		if err != nil {
			return err
		}
		if end == math.MaxInt64 {
			break
		}
		at = m.firstFrom(end)
	}
	return s.commitMerge(t, series, m.batch, m.bytes-m.removed)
}

// commitMerge commits a merge, unless the table was dropped meanwhile. The merge need not be
// durable at once, because the old chunks remain until then.
func (s *Store) commitMerge(t *table, series varve.Series, batch *pebble.Batch, grown int64) error {
	s.catalog.Lock()
	defer s.catalog.Unlock()
	if t.dropped {
		return nil
	}
	stats := t.stats
	stats.bytes += grown
	if err := errors.Join(stats.put(batch, t.number), putNextChunk(batch, s.nextChunk.Load())); err != nil {
		return err
	}
	if err := s.apply(batch); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t.stats = stats
	if tl := t.tails[series]; tl != nil {
		tl.smalls = 0
	}
	return nil
}

// merger merges level 0 of one series into level 1.
type merger struct {
	*finder
	cutter
	removed int64 // bytes of the merged chunks
}

// remove adds the deletion of the current chunk to the batch.
func (m *merger) remove(data []byte) error {
	m.removed += int64(len(m.iter.Key()) + len(data))
	return m.batch.Delete(m.iter.Key(), nil)
}

// loadSmalls decodes the chunks of level 0, and adds their deletion to the batch.
func (m *merger) loadSmalls() error {
	return m.eachSmall(func(_ chunk.Header, data []byte) error {
		c := new(chunk.Chunk)
		if err := m.broken(c.Decode(m.series, data)); err != nil {
			return err
		}
		m.smalls = append(m.smalls, c)
		return m.remove(data)
	})
}

// firstFrom returns the first event time in level 0 at or after a time, or -1.
func (m *merger) firstFrom(from int64) int64 {
	first := int64(-1)
	for _, c := range m.smalls {
		sp := span{first: from, last: math.MaxInt64}
		if i, to := sp.bounds(c); i < to && (first < 0 || c.Time(i) < first) {
			first = c.Time(i)
		}
	}
	return first
}

// mergeUnit rewrites the chunks of level 1 that receive the readings of level 0 from a time on.
// A unit is one chunk, or several chunks that share event times. mergeUnit returns the start of
// the next unit.
func (m *merger) mergeUnit(from int64) (end int64, err error) {
	unit, end, err := m.unit(from)
	if err != nil {
		return 0, err
	}
	mg := merge{span: span{first: 0, last: math.MaxInt64}}
	for _, c := range unit {
		mg.cursors = append(mg.cursors, newCursor(c, &mg.span))
	}
	late := span{first: from, last: end - 1}
	for _, c := range m.smalls {
		mg.cursors = append(mg.cursors, newCursor(c, &late))
	}
	m.begin(m.finder.space, levelMain, m.cutter.s.opts.ChunkReadings)
	var r varve.Reading
	var arena chunk.Arena
	for i := 0; ; i++ {
		if i%restEvery == 0 {
			m.pace.Rest()
		}
		c, err := mg.first()
		if err != nil {
			return 0, err
		}
		if c == nil {
			return end, m.cut()
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

// unit returns the chunks of level 1 for readings of an event time, and the start of the next
// unit. It adds their deletion to the batch.
func (m *merger) unit(from int64) (unit []*chunk.Chunk, end int64, err error) {
	// The unit begins with the last chunk that starts at or before the time, or else with the
	// first chunk.
	ok := m.iter.SeekLT(appendChunkKey(nil, m.finder.space, levelMain, from+1, 0)) && m.at(levelMain)
	if !ok && m.iter.Error() == nil {
		ok = m.seekMainFirst() && m.at(levelMain)
	}
	// Moves back to the first of several chunks that share event times.
	for ok {
		h, err := m.header()
		if err != nil {
			return nil, 0, err
		}
		if !m.iter.Prev() || !m.at(levelMain) {
			if err := m.iter.Error(); err != nil {
				return nil, 0, err
			}
			m.seekMainFirst()
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
	for ok = ok && m.iter.Valid(); ok && m.at(levelMain); ok = m.iter.Next() {
		value, err := m.iter.ValueAndErr()
		if err != nil {
			return nil, 0, err
		}
		c := new(chunk.Chunk)
		if err := m.broken(c.Decode(m.series, value)); err != nil {
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

// seekMainFirst moves to the first chunk of level 1 of the series.
func (m *merger) seekMainFirst() bool {
	return m.iter.SeekGE(appendChunkKey(nil, m.finder.space, levelMain, 0, 0))
}
