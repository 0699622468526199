package local

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/local/chunk"
	"github.com/varvedb/varve/store/local/memtable"
)

// pageReadings is the maximum number of readings on a page if the range has no limit.
const pageReadings = 4096

// reader reads readings from memory and chunks.
type reader struct {
	db  *database
	mem *memory
}

// Read implements store.Reader. The cost is one request, and one unit for each chunk of level 1 that
// was read. Level 0 and memory cost nothing.
func (rd *reader) Read(ctx context.Context, r store.Range, dst []varve.Reading) (page store.Page, err error) {
	if err := rd.db.life.enter(ctx); err != nil {
		return store.Page{}, err
	}
	defer rd.db.life.leave()
	defer func() { err = damaged(err, r.Table, r.Series) }()
	want := r.Limit
	if want <= 0 {
		want = pageReadings
	}
	m, err := rd.merge(&r, want)
	if err != nil || m == nil {
		return store.Page{Readings: dst[:0]}, err
	}
	defer func() { err = closing(err, m) }()
	var next *cursor
	if page.Readings, next, err = m.fill(ctx, dst[:0], want, false); next != nil {
		page.More, page.Split = true, next.isVersionOf(nil, page.Readings)
	}
	page.Cost = m.cost
	return page, err
}

// merge returns a merge of the readings in a range, or nil if the range is empty. The caller needs
// at most "want" readings.
func (rd *reader) merge(r *store.Range, want int) (*merge, error) {
	sp, some := spanOf(r)
	m := &merge{span: sp, cost: store.Cost{Requests: 1}}
	number, chunks, err := rd.views(r, m, max(want, want+1)) // want+1, but without overflow
	if err != nil || !some {
		return nil, err
	}
	if chunks {
		if err := m.addChunks(rd.db, number, r); err != nil {
			return nil, closing(err, m)
		}
	}
	return m, nil
}

// views adds the readings in memory to the merge, at most "want" readings of each memtable. It reports
// whether chunks must be read, too. The caller opens the chunks afterward. So the caller may read the
// readings of a concurrent flush twice, but never misses them.
func (rd *reader) views(r *store.Range, m *merge, want int) (number uint32, chunks bool, err error) {
	shard, s := rd.mem.mu.shardOf(r.Series)
	s.RLock()
	defer s.RUnlock()
	tb, err := rd.mem.table(r.Table)
	if err != nil {
		return 0, false, err
	}
	chunks = rd.db.ledger.hasChunks(tb)
	b := tb.buffers[shard][r.Series]
	if b == nil {
		return tb.number, chunks, nil
	}
	for _, mt := range []*memtable.Memtable{rd.mem.mutable, rd.mem.immutable} {
		if mt == nil || b.rows[mt.Parity].Len() == 0 {
			continue
		}
		// The rows are copied, because an insert moves them. It does not move their bodies.
		part := mt.Shards[shard]
		rows := m.rowsOf(&b.rows[mt.Parity], &part.Content, want)
		if rows.Len() == 0 {
			continue
		}
		v := part.View(b.Series, b.table.base(), rows)
		m.views = append(m.views, v)
		m.cursors = append(m.cursors, newCursor(v, &m.span))
		chunks = chunks && !(m.desc && rows.Len() >= want && b.flushedKnown && rows.FirstTime() > b.maxFlushed)
	}
	if b.flushedKnown && m.span.first > b.maxFlushed {
		chunks = false
	}
	return tb.number, chunks, nil
}

// addChunks adds the chunks of the series of a range that overlap the span.
func (m *merge) addChunks(d *database, number uint32, r *store.Range) (err error) {
	series := r.Series
	cr := chunkReader{db: d, series: series, prefix: appendSeriesSpace(nil, number, series), lost: skipLost(r.Damaged, r.Table, series)}
	cr.iter, err = d.NewIter(&pebble.IterOptions{LowerBound: cr.prefix, UpperBound: after(cr.prefix)})
	if err != nil {
		return err
	}
	m.iter, m.prefix = cr.iter, cr.prefix
	err = cr.eachLevel0(func(h chunk.Header, data []byte) error {
		if h.MaxTime < m.span.first || h.MinTime > m.span.last {
			return nil
		}
		c := m.chunk()
		if err := cr.reportBroken(c.Decode(series, data)); err != nil {
			return err
		}
		m.cursors = append(m.cursors, newCursor(c, &m.span))
		return nil
	})
	if err != nil {
		return fmt.Errorf("%s: %w", series, err)
	}
	m.cursors = append(m.cursors, cursor{span: &m.span, more: m.level1Chunks(&cr)})
	return nil
}

// level1Chunks returns a function that returns the next chunk of level 1 that may overlap the span.
func (m *merge) level1Chunks(cr *chunkReader) func() (rows, error) {
	var c *chunk.Chunk
	begun := false
	seen := cr.level1Start() // key of the previous chunk; at first, the key where the search begins
	if m.desc {
		seen = appendChunkKey(nil, cr.prefix, level1, m.span.last, ^uint64(0))
	}
	return func() (rows, error) {
		// If the previous chunk begins before the span, all earlier chunks end before the span. Only chunks that
		// reappeared after damage may be exceptions.
		if begun && m.desc && cr.isBefore(seen, m.span.first) {
			return nil, nil
		}
		var ok bool
		switch {
		case begun && m.desc:
			ok = cr.iter.Prev()
		case begun:
			ok = cr.iter.Next()
		case m.desc:
			ok = cr.iter.SeekLT(appendChunkKey(nil, cr.prefix, level1, m.span.last, ^uint64(0)))
		default:
			ok = cr.seekLevel1(m.span.first)
			if ok && cr.isAtLevel(level1) && cr.isBefore(cr.iter.Key(), m.span.first) {
				seen = slices.Clone(cr.iter.Key())
			}
		}
		begun = true
		ok = ok && cr.isAtLevel(level1)
		if err := cr.intactBetween(&seen, ok, &m.span); err != nil || !ok {
			return nil, errors.Join(err, cr.iter.Error())
		}
		value, err := cr.iter.ValueAndErr()
		if err != nil {
			return nil, err
		}
		m.cost.Units++
		if c == nil || slices.Contains(m.lent, c) {
			c = m.chunk()
		}
		if err := cr.reportBroken(c.Decode(cr.series, value)); err != nil {
			return nil, err
		}
		if m.desc && c.MaxTime < m.span.first || !m.desc && c.MinTime > m.span.last {
			return nil, nil
		}
		return c, nil
	}
}

// seekLevel1 moves to the first chunk of level 1 that may contain a reading at or after a time. It
// is the last chunk that begins before that time, or else the first chunk.
func (cr *chunkReader) seekLevel1(first int64) bool {
	key := appendChunkKey(nil, cr.prefix, level1, first, 0)
	if cr.iter.SeekLT(key) && cr.isAtLevel(level1) {
		return true
	}
	if cr.iter.Error() != nil {
		return false // a second seek would clear the error
	}
	return cr.iter.SeekGE(key)
}

var chunks = sync.Pool{New: func() any { return new(chunk.Chunk) }}

// chunk returns memory for a decoded chunk. The method Close of the merge releases the memory, unless
// a page uses it.
func (m *merge) chunk() *chunk.Chunk {
	c := chunks.Get().(*chunk.Chunk)
	m.borrowed = append(m.borrowed, c)
	return c
}

// Latest implements store.Reader.
func (rd *reader) Latest(ctx context.Context, l store.Latest) (varve.Reading, bool, store.Cost, error) {
	if l.By == varve.ByArrival {
		return rd.newestArrived(ctx, l)
	}
	if r, ok := rd.cachedNewest(ctx, &l); ok {
		return r, true, store.Cost{Requests: 1}, nil
	}
	r := store.Range{Table: l.Table, Series: l.Series, Window: varve.AllTime(), Order: varve.Descending, Limit: 1, Damaged: l.Damaged}
	var cost store.Cost
	var page store.Page
	for {
		var err error
		epoch := rd.mem.epochOf(&l)
		if page, err = rd.Read(ctx, r, page.Readings); err != nil {
			return varve.Reading{}, false, cost, err
		}
		cost.Add(page.Cost)
		for i := range page.Readings {
			if q := &page.Readings[i]; q.Alive(l.Cutoff) {
				if i == 0 && r.After == nil && page.Cost.Units > 0 && l.Damaged == nil { // with l.Damaged, a later reading may be missing
					rd.mem.cacheNewest(q, &l, epoch)
				}
				return *q, true, cost, nil
			}
		}
		if !page.More {
			return varve.Reading{}, false, cost, nil
		}
		last := page.Readings[len(page.Readings)-1].Position()
		r.After, r.Limit = &last, 0
	}
}

// cachedNewest returns the cached latest reading of a series, if no later one was stored since.
func (rd *reader) cachedNewest(ctx context.Context, l *store.Latest) (varve.Reading, bool) {
	if err := rd.db.life.enter(ctx); err != nil {
		return varve.Reading{}, false
	}
	defer rd.db.life.leave()
	shard, s := rd.mem.mu.shardOf(l.Series)
	s.RLock()
	defer s.RUnlock()
	b := rd.mem.bufferOf(l, shard)
	if b == nil || b.newest == nil || b.newestEpoch != b.epoch || !b.newest.Alive(l.Cutoff) {
		return varve.Reading{}, false
	}
	for i := range b.rows {
		if r := &b.rows[i]; r.Len() > 0 && r.LastTime() >= b.newest.Time.UnixNano() {
			return varve.Reading{}, false
		}
	}
	return b.newest.Clone(), true
}

// lastArrived returns the last-arrived live reading of a series in a table. It decodes only chunks
// whose last arrival is not before the arrival of the best reading so far.
func (rd *reader) lastArrived(ctx context.Context, l store.Latest) (best varve.Reading, found bool, cost store.Cost, err error) {
	cost.Requests = 1
	if err := rd.db.life.enter(ctx); err != nil {
		return best, false, cost, err
	}
	defer rd.db.life.leave()
	r := store.Range{Table: l.Table, Series: l.Series, Window: varve.AllTime()}
	m := &merge{}
	m.span, _ = spanOf(&r)
	number, chunks, err := rd.views(&r, m, mostRows)
	if err != nil {
		return best, false, cost, err
	}
	defer func() { err = damaged(err, l.Table, l.Series) }()
	a := arrivals{cutoff: l.Cutoff, best: &best}
	for i := range m.cursors {
		if err := a.consider(m.cursors[i].rows); err != nil {
			return best, false, cost, err
		}
	}
	if chunks {
		units, err := a.considerChunks(rd.db, number, &l)
		cost.Units += units
		if err != nil {
			return best, false, cost, err
		}
	}
	return best, a.found, cost, nil
}

// mostRows exceeds the number of readings in any series buffer.
const mostRows = math.MaxInt32

// arrivals finds the live reading that arrived last.
type arrivals struct {
	cutoff time.Time
	best   *varve.Reading
	found  bool
	arena  chunk.Arena
}

func (a *arrivals) consider(rs rows) error {
	var r varve.Reading
	for i := range rs.Len() {
		at := time.UnixMilli(rs.Arrived(i))
		if a.found && at.Before(a.best.Arrived) || !at.After(a.cutoff) && !time.Unix(0, rs.Time(i)).After(a.cutoff) {
			continue
		}
		if err := rs.Fill(i, &r, &a.arena); err != nil {
			return err
		}
		if !a.found || varve.ByArrival.Later(&r, a.best) {
			*a.best, a.found = r.Clone(), true
		}
	}
	return nil
}

func (a *arrivals) considerChunks(d *database, number uint32, l *store.Latest) (units float64, err error) {
	series := l.Series
	space := appendSeriesSpace(nil, number, series)
	iter, err := d.NewIter(&pebble.IterOptions{LowerBound: space, UpperBound: after(space)})
	if err != nil {
		return 0, err
	}
	defer func() { err = closing(err, iter) }()
	cr := chunkReader{db: d, iter: iter, series: series, prefix: space, lost: skipLost(l.Damaged, l.Table, series)}
	if err := cr.intact(space, after(space)); err != nil {
		return 0, err
	}
	var c chunk.Chunk
	for ok := iter.Last(); ok; ok = iter.Prev() { // the readings of the last chunk most likely arrived last
		value, err := iter.ValueAndErr()
		if err != nil {
			return units, err
		}
		h, err := cr.header()
		if err != nil {
			return units, err
		}
		arrived := time.UnixMilli(h.MaxArrived)
		if a.found && arrived.Before(a.best.Arrived) || !arrived.After(a.cutoff) && !time.Unix(0, h.MaxTime).After(a.cutoff) {
			continue
		}
		units++
		if err := cr.reportBroken(c.Decode(series, value)); err != nil {
			return units, err
		}
		if err := a.consider(&c); err != nil {
			return units, err
		}
	}
	return units, iter.Error()
}
