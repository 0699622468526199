package local

import (
	"bytes"
	"cmp"
	"errors"
	"math"
	"slices"
	"sort"

	"github.com/cockroachdb/pebble/v2"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store/local/chunk"
	"github.com/varvedb/varve/store/local/memtable"
)

// finder looks up single readings in a snapshot of the chunks.
type finder struct {
	s      *Store
	iter   *pebble.Iterator
	series varve.Series
	space  []byte
	smalls []*chunk.Chunk // decoded chunks of level 0 of the series
	main   chunk.Chunk    // the chunk of level 1 that was decoded last
	key    []byte         // key of main

	lenient bool // includes the remaining data of lost ranges instead of refusing them
}

func newFinder(s *Store) (*finder, error) {
	space := []byte{spaceChunk}
	iter, err := s.db.NewIter(&pebble.IterOptions{LowerBound: space, UpperBound: after(space)})
	if err != nil {
		return nil, err
	}
	return &finder{s: s, iter: iter}, nil
}

// turn selects a series of a table.
func (f *finder) turn(t *table, series varve.Series) {
	f.series = series
	f.space = appendSeriesSpace(f.space[:0], t.number, series)
	f.smalls, f.key = nil, nil
}

// edge returns the last event time of the series in chunks, and the number of its chunks in
// level 0.
func (f *finder) edge() (edge int64, smalls int, err error) {
	edge = memtable.NoTime
	err = f.eachSmall(func(h chunk.Header, _ []byte) error {
		smalls++
		edge = max(edge, h.MaxTime)
		return nil
	})
	if err != nil {
		return 0, 0, err
	}
	end := appendChunkKey(nil, f.space, levelMain+1, 0, 0)
	last := f.mainStart()
	if f.iter.SeekLT(end) && f.at(levelMain) {
		h, err := f.header()
		if err != nil {
			return 0, 0, err
		}
		edge = max(edge, h.MaxTime)
		last = f.iter.Key()
	}
	if err := f.iter.Error(); err != nil {
		return 0, 0, err
	}
	return edge, smalls, f.intact(last, end)
}

// at reports whether the iterator is at a chunk of the series in a level.
func (f *finder) at(level byte) bool {
	key := f.iter.Key()
	if len(key) != len(f.space)+chunkKeySuffix || !bytes.HasPrefix(key, f.space) {
		return false
	}
	return levelOf(key, f.space) == level
}

func (f *finder) header() (chunk.Header, error) {
	value, err := f.iter.ValueAndErr()
	if err != nil {
		return chunk.Header{}, err
	}
	h, err := chunk.ReadHeader(value)
	return h, f.broken(err)
}

// eachSmall calls do for every chunk of level 0 of the series.
func (f *finder) eachSmall(do func(h chunk.Header, data []byte) error) error {
	first := appendChunkKey(nil, f.space, levelSmall, 0, 0)
	if err := f.intact(first, f.mainStart()); err != nil {
		return err
	}
	for ok := f.iter.SeekGE(first); ok && f.at(levelSmall); ok = f.iter.Next() {
		h, err := f.header()
		if err != nil {
			return err
		}
		value, err := f.iter.ValueAndErr()
		if err != nil {
			return err
		}
		if err := do(h, value); err != nil {
			return err
		}
	}
	return f.iter.Error()
}

// load decodes the chunks of level 0 that overlap the times from first to last.
func (f *finder) load(first, last int64) error {
	return f.eachSmall(func(h chunk.Header, data []byte) error {
		if h.MaxTime < first || h.MinTime > last {
			return nil
		}
		c := new(chunk.Chunk)
		f.smalls = append(f.smalls, c)
		return f.broken(c.Decode(f.series, data))
	})
}

// eachMain calls do for every chunk of level 1 that may hold a reading of a time.
func (f *finder) eachMain(at int64, do func(c *chunk.Chunk)) error {
	if at == math.MaxInt64 {
		return nil
	}
	// Level 1 is disjoint. So the reading can only be in the last chunk that starts at or before
	// its time, and in earlier chunks that end at its time.
	seek := appendChunkKey(nil, f.space, levelMain, at+1, 0)
	behind := seek
	for ok := f.iter.SeekLT(seek); ; ok = f.iter.Prev() {
		if !ok || !f.at(levelMain) {
			if err := f.iter.Error(); err != nil {
				return err
			}
			return f.intact(f.mainStart(), behind)
		}
		if err := f.intact(f.iter.Key(), behind); err != nil {
			return err
		}
		behind = slices.Clone(f.iter.Key())
		if err := f.decodeMain(); err != nil {
			return err
		}
		if f.main.MaxTime < at {
			return nil
		}
		do(&f.main)
		if f.main.MinTime < at {
			return nil
		}
	}
}

func (f *finder) decodeMain() error {
	if bytes.Equal(f.key, f.iter.Key()) {
		return nil
	}
	value, err := f.iter.ValueAndErr()
	if err != nil {
		return err
	}
	f.key = slices.Clone(f.iter.Key())
	if err := f.main.Decode(f.series, value); err != nil {
		f.key = nil
		return f.broken(err)
	}
	return nil
}

// find returns the index of a position in a chunk.
func find(c *chunk.Chunk, p varve.Position) (int, bool) {
	compare := func(i int) int {
		if t := c.Time(i); t != p.Time {
			return cmp.Compare(p.Time, t)
		}
		return p.ID.Compare(c.ID(i))
	}
	return sort.Find(c.Len(), compare)
}

// askChunks looks up the late readings of a write in chunks, series by series.
func (w *writer) askChunks() (err error) {
	f, err := newFinder(w.s)
	if err != nil {
		return err
	}
	defer func() {
		// The iterator repeats the damage for which readings were refused.
		if closed := f.iter.Close(); !isDamage(closed) {
			err = errors.Join(err, closed)
		}
	}()
	slices.SortFunc(w.late, func(a, b *lookup) int {
		if s, t := a.group.tail, b.group.tail; s != t {
			if c := s.table.Table.Compare(t.table.Table); c != 0 {
				return c
			}
			return s.Series.Compare(t.Series)
		}
		return a.reading.Position().Compare(b.reading.Position())
	})
	for from := 0; from < len(w.late); {
		to := from + 1
		for to < len(w.late) && w.late[to].group.tail == w.late[from].group.tail {
			to++
		}
		if err := w.askSeries(f, w.late[from:to]); err != nil {
			return err
		}
		from = to
	}
	return nil
}

// askSeries looks up readings of one series buffer, in the order of their positions.
func (w *writer) askSeries(f *finder, late []*lookup) error {
	t := late[0].group.tail
	f.turn(t.table, t.Series)
	if err := w.s.learn(f, t, late[0].group.cleared); err != nil && !isDamage(err) {
		return err // without an edge, every reading is looked up in chunks
	}
	first, last := late[0].reading.Time.UnixNano(), late[len(late)-1].reading.Time.UnixNano()
	if err := f.load(first, last); err != nil {
		return refuse(late, err)
	}
	for from := 0; from < len(late); {
		to := from + 1
		for to < len(late) && late[to].reading.Time.Equal(late[from].reading.Time) {
			to++
		}
		if err := refuse(late[from:to], f.ask(late[from:to])); err != nil {
			return err
		}
		from = to
	}
	return nil
}

// ask looks up readings of one event time in chunks. They are ordered by id, so that each chunk
// is decoded once and only searched for ids in its range.
func (f *finder) ask(late []*lookup) error {
	for _, l := range late {
		l.inChunk = varve.Verdict{}
		for _, c := range f.smalls {
			l.lookInto(c)
		}
	}
	return f.eachMain(late[0].reading.Time.UnixNano(), func(c *chunk.Chunk) {
		first, last := positionIn(c, 0), positionIn(c, c.Len()-1)
		begin := sort.Search(len(late), func(i int) bool { return late[i].reading.Position().Compare(first) >= 0 })
		for _, l := range late[begin:] {
			if l.reading.Position().Compare(last) > 0 {
				break
			}
			l.lookInto(c)
		}
	})
}

func positionIn(c *chunk.Chunk, i int) varve.Position {
	return varve.Position{Time: c.Time(i), ID: c.ID(i)}
}

// learn sets the edge of a series buffer if it is unknown. The result is out of date if rows of
// the buffer were flushed since cleared was read.
func (s *Store) learn(f *finder, t *tail, cleared uint64) error {
	s.mu.RLock()
	known := t.known
	s.mu.RUnlock()
	if known {
		return nil
	}
	edge, smalls, err := f.edge()
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !t.known && t.cleared == cleared {
		t.known, t.edge, t.smalls = true, edge, smalls
	}
	return nil
}
