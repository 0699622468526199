package local

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/local/chunk"
	"github.com/varvedb/varve/store/local/memtable"
)

// pageReadings is the maximum size of a page without a limit.
const pageReadings = 4096

// Read implements store.Reader. The cost counts the chunks that were read. Readings in memory
// cost nothing.
func (s *Store) Read(ctx context.Context, r store.Range, dst []varve.Reading) (page store.Page, err error) {
	if err := s.enter(ctx); err != nil {
		return store.Page{}, err
	}
	defer s.leave()
	defer func() { err = damaged(err, r.Table, r.Series) }()
	want := r.Limit
	if want <= 0 {
		want = pageReadings
	}
	m, err := s.merge(&r, want)
	if err != nil || m == nil {
		return store.Page{Readings: dst[:0]}, err
	}
	defer func() { err = closing(err, m) }()
	page.Readings, page.More, err = m.fill(ctx, dst[:0], want, false)
	page.Cost = m.cost
	return page, err
}

// merge returns a merge of all readings of a series in a range, or nil if the range is empty.
// The caller needs at most want readings.
func (s *Store) merge(r *store.Range, want int) (*merge, error) {
	sp, some := spanOf(r)
	m := &merge{span: sp, cost: store.Cost{Requests: 1}}
	number, chunks, err := s.views(r, m, want+1)
	if err != nil || !some {
		return nil, err
	}
	if chunks {
		if err := m.addChunks(s, number, r.Series); err != nil {
			return nil, closing(err, m)
		}
	}
	return m, nil
}

// views adds the readings in memory to the merge, at most want of each memtable. It reports
// whether chunks must be read, too. The caller opens the chunks afterwards, so that readings of
// a concurrent flush are seen twice rather than never.
func (s *Store) views(r *store.Range, m *merge, want int) (number uint32, chunks bool, err error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	tb, err := s.table(r.Table)
	if err != nil {
		return 0, false, err
	}
	chunks = s.hasChunks(tb)
	t := tb.tails[r.Series]
	if t == nil {
		return tb.number, chunks, nil
	}
	for _, h := range []*memtable.Memtable{s.active, s.frozen} {
		if h == nil || t.rows[h.Parity].Len() == 0 {
			continue
		}
		// An insert moves rows, but not their bodies.
		rows := m.rowsOf(&t.rows[h.Parity], &h.Content, want)
		if len(rows) == 0 {
			continue
		}
		m.cursors = append(m.cursors, newCursor(t.view(h, rows), &m.span))
		chunks = chunks && !(m.desc && len(rows) >= want && t.known && rows[0].Time > t.edge)
	}
	if t.known && m.span.first > t.edge {
		chunks = false
	}
	return tb.number, chunks, nil
}

// addChunks adds the chunks of a series that overlap the span.
func (m *merge) addChunks(s *Store, number uint32, series varve.Series) (err error) {
	f := finder{s: s, series: series, space: appendSeriesSpace(nil, number, series)}
	f.iter, err = s.db.NewIter(&pebble.IterOptions{LowerBound: f.space, UpperBound: after(f.space)})
	if err != nil {
		return err
	}
	m.iter = f.iter
	err = f.eachSmall(func(h chunk.Header, data []byte) error {
		if h.MaxTime < m.span.first || h.MinTime > m.span.last {
			return nil
		}
		c := m.chunk()
		if err := f.broken(c.Decode(series, data)); err != nil {
			return err
		}
		m.cursors = append(m.cursors, newCursor(c, &m.span))
		return nil
	})
	if err != nil {
		return fmt.Errorf("%s: %w", series, err)
	}
	m.cursors = append(m.cursors, cursor{more: m.mainChunks(&f)})
	return nil
}

// mainChunks returns the chunks of level 1 that overlap the span, one by one.
func (m *merge) mainChunks(f *finder) func() (rows, error) {
	var c *chunk.Chunk
	begun := false
	seen := f.mainStart() // the previous chunk, or the earliest position of the first one
	if m.desc {
		seen = appendChunkKey(nil, f.space, levelMain, m.span.last, ^uint64(0))
	}
	return func() (rows, error) {
		var ok bool
		switch {
		case begun && m.desc:
			ok = f.iter.Prev()
		case begun:
			ok = f.iter.Next()
		case m.desc:
			ok = f.iter.SeekLT(appendChunkKey(nil, f.space, levelMain, m.span.last, ^uint64(0)))
		default:
			ok = f.seekMain(m.span.first)
			if ok && f.at(levelMain) && f.isBefore(f.iter.Key(), m.span.first) {
				seen = slices.Clone(f.iter.Key())
			}
		}
		begun = true
		ok = ok && f.at(levelMain)
		if err := f.intactBetween(&seen, ok, &m.span); err != nil || !ok {
			return nil, errors.Join(err, f.iter.Error())
		}
		value, err := f.iter.ValueAndErr()
		if err != nil {
			return nil, err
		}
		m.cost.Units++
		if c == nil || slices.Contains(m.lent, c) {
			c = m.chunk()
		}
		if err := f.broken(c.Decode(f.series, value)); err != nil {
			return nil, err
		}
		if m.desc && c.MaxTime < m.span.first || !m.desc && c.MinTime > m.span.last {
			return nil, nil
		}
		return c, nil
	}
}

// seekMain moves to the first chunk of level 1 that may hold a reading at or after a time: the
// last chunk that begins before it, or else the first.
func (f *finder) seekMain(first int64) bool {
	key := appendChunkKey(nil, f.space, levelMain, first, 0)
	if f.iter.SeekLT(key) && f.at(levelMain) {
		return true
	}
	if f.iter.Error() != nil {
		return false // a second seek would clear the error
	}
	return f.iter.SeekGE(key)
}

var chunks = sync.Pool{New: func() any { return new(chunk.Chunk) }}

// chunk returns memory for a decoded chunk. Close of the merge releases it.
func (m *merge) chunk() *chunk.Chunk {
	c := chunks.Get().(*chunk.Chunk)
	m.borrowed = append(m.borrowed, c)
	return c
}

// Latest implements store.Reader.
func (s *Store) Latest(ctx context.Context, l store.Latest) (varve.Reading, bool, store.Cost, error) {
	if l.By == varve.ByArrival {
		return s.lastArrived(ctx, l)
	}
	if r, ok := s.known(ctx, &l); ok {
		return r, true, store.Cost{Requests: 1}, nil
	}
	r := store.Range{Table: l.Table, Series: l.Series, Window: varve.AllTime(), Order: varve.Descending, Limit: 1}
	var cost store.Cost
	var page store.Page
	for {
		var err error
		cleared := s.clearedOf(&l)
		if page, err = s.Read(ctx, r, page.Readings); err != nil {
			return varve.Reading{}, false, cost, err
		}
		cost.Add(page.Cost)
		for i := range page.Readings {
			if q := &page.Readings[i]; q.Alive(l.Cutoff) {
				if i == 0 && r.After == nil && page.Cost.Units > 0 {
					s.remember(q, &l, cleared)
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

// known returns the latest reading if it is remembered from an earlier call, and
// nothing has come since.
func (s *Store) known(ctx context.Context, l *store.Latest) (varve.Reading, bool) {
	if err := s.enter(ctx); err != nil {
		return varve.Reading{}, false
	}
	defer s.leave()
	s.mu.RLock()
	defer s.mu.RUnlock()
	t := s.tailOf(l)
	if t == nil || t.newest == nil || t.newestOf != t.cleared || !t.newest.Alive(l.Cutoff) {
		return varve.Reading{}, false
	}
	for i := range t.rows {
		if r := &t.rows[i]; r.Len() > 0 && r.LastTime() >= t.newest.Time.UnixNano() {
			return varve.Reading{}, false
		}
	}
	return t.newest.Clone(), true
}

// tailOf returns the series buffer, or nil if none exists. The caller holds the lock.
func (s *Store) tailOf(l *store.Latest) *tail {
	tb, err := s.table(l.Table)
	if err != nil {
		return nil
	}
	return tb.tails[l.Series]
}

// clearedOf returns the flush epoch that remember compares.
func (s *Store) clearedOf(l *store.Latest) uint64 {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if t := s.tailOf(l); t != nil {
		return t.cleared
	}
	return s.clears // the epoch of a new series buffer
}

// remember caches the latest reading of a series from chunks, unless a flush changed the chunks
// meanwhile.
func (s *Store) remember(r *varve.Reading, l *store.Latest, cleared uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	tb, err := s.table(l.Table)
	if err != nil {
		return
	}
	if t := s.makeTail(tb, l.Series); t.cleared == cleared {
		kept := r.Clone()
		t.newest, t.newestOf = &kept, cleared
	}
}

// lastArrived examines all readings of a series in a table. It decodes only chunks whose last
// arrival is not before the best reading so far.
func (s *Store) lastArrived(ctx context.Context, l store.Latest) (best varve.Reading, found bool, cost store.Cost, err error) {
	cost.Requests = 1
	if err := s.enter(ctx); err != nil {
		return best, false, cost, err
	}
	defer s.leave()
	r := store.Range{Table: l.Table, Series: l.Series, Window: varve.AllTime()}
	m := &merge{}
	m.span, _ = spanOf(&r)
	number, chunks, err := s.views(&r, m, mostRows)
	if err != nil {
		return best, false, cost, err
	}
	defer func() { err = damaged(err, l.Table, l.Series) }()
	a := arrivals{cutoff: l.Cutoff, best: &best}
	for i := range m.cursors {
		if err := a.look(m.cursors[i].rows); err != nil {
			return best, false, cost, err
		}
	}
	if chunks {
		units, err := a.lookInChunks(s, number, l.Series)
		cost.Units += units
		if err != nil {
			return best, false, cost, err
		}
	}
	return best, a.found, cost, nil
}

// mostRows exceeds the number of readings in any series buffer.
const mostRows = 1 << 40

// arrivals finds the live reading that arrived last.
type arrivals struct {
	cutoff time.Time
	best   *varve.Reading
	found  bool
	arena  chunk.Arena
}

func (a *arrivals) look(rs rows) error {
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

func (a *arrivals) lookInChunks(s *Store, number uint32, series varve.Series) (units float64, err error) {
	space := appendSeriesSpace(nil, number, series)
	iter, err := s.db.NewIter(&pebble.IterOptions{LowerBound: space, UpperBound: after(space)})
	if err != nil {
		return 0, err
	}
	defer func() { err = closing(err, iter) }()
	f := finder{s: s, iter: iter, series: series, space: space}
	if err := f.intact(space, after(space)); err != nil {
		return 0, err
	}
	var c chunk.Chunk
	for ok := iter.Last(); ok; ok = iter.Prev() { // newest first, because it most likely arrived last
		value, err := iter.ValueAndErr()
		if err != nil {
			return units, err
		}
		h, err := f.header()
		if err != nil {
			return units, err
		}
		arrived := time.UnixMilli(h.MaxArrived)
		if a.found && arrived.Before(a.best.Arrived) || !arrived.After(a.cutoff) && !time.Unix(0, h.MaxTime).After(a.cutoff) {
			continue
		}
		units++
		if err := f.broken(c.Decode(series, value)); err != nil {
			return units, err
		}
		if err := a.look(&c); err != nil {
			return units, err
		}
	}
	return units, iter.Error()
}
