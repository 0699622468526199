package local

import (
	"bytes"
	"cmp"
	"math"
	"slices"
	"sort"

	"github.com/cockroachdb/pebble/v2"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store/local/chunk"
	"github.com/varvedb/varve/store/local/memtable"
)

// chunkReader reads the chunks of a series, and looks up single readings in them. It sees the chunks
// that existed when its iterator was created.
type chunkReader struct {
	db     *database
	iter   *pebble.Iterator
	series varve.Series
	prefix []byte
	level0 []*chunk.Chunk // decoded chunks of level 0 of the series
	level1 chunk.Chunk    // the chunk of level 1 that was decoded last
	key    []byte         // key of the chunk level1 in Pebble
	at     int            // the last result of the method seek: an index of a reading in level1

	lenient bool // if true, lost ranges are ignored, and the readings that remain in them are returned
	// lost, if not nil, is called for each lost range that a read needs. The readings that remain in the range are
	// returned. If lost is nil, such a range is refused.
	lost func(*lost)
}

func newChunkReader(d *database) (*chunkReader, error) {
	space := []byte{spaceChunk}
	iter, err := d.NewIter(&pebble.IterOptions{LowerBound: space, UpperBound: after(space)})
	if err != nil {
		return nil, err
	}
	return &chunkReader{db: d, iter: iter}, nil
}

func (cr *chunkReader) selectSeries(t *table, series varve.Series) {
	cr.series = series
	cr.prefix = appendSeriesSpace(cr.prefix[:0], t.number, series)
	cr.level0, cr.key = nil, nil
}

// readMaxFlushed returns the last event time of the series in chunks, and the number of its
// chunks in level 0. Without chunks, the time is memtable.NoTime.
func (cr *chunkReader) readMaxFlushed() (maxTime int64, level0Chunks int, err error) {
	maxTime = memtable.NoTime
	err = cr.eachLevel0(func(h chunk.Header, _ []byte) error {
		level0Chunks++
		maxTime = max(maxTime, h.MaxTime)
		return nil
	})
	if err != nil {
		return 0, 0, err
	}
	end := appendChunkKey(nil, cr.prefix, level1+1, 0, 0)
	last := cr.level1Start()
	if cr.iter.SeekLT(end) && cr.isAtLevel(level1) {
		h, err := cr.header()
		if err != nil {
			return 0, 0, err
		}
		maxTime = max(maxTime, h.MaxTime)
		last = cr.iter.Key()
	}
	if err := cr.iter.Error(); err != nil {
		return 0, 0, err
	}
	return maxTime, level0Chunks, cr.intact(last, end)
}

func (cr *chunkReader) isAtLevel(level byte) bool {
	key := cr.iter.Key()
	if len(key) != len(cr.prefix)+chunkKeySuffix || !bytes.HasPrefix(key, cr.prefix) {
		return false
	}
	return levelOf(key, cr.prefix) == level
}

func (cr *chunkReader) header() (chunk.Header, error) {
	value, err := cr.iter.ValueAndErr()
	if err != nil {
		return chunk.Header{}, err
	}
	h, err := chunk.ReadHeader(value)
	return h, cr.reportBroken(err)
}

// eachLevel0 calls the function "do" for every chunk of level 0 of the series.
func (cr *chunkReader) eachLevel0(do func(h chunk.Header, data []byte) error) error {
	first := appendChunkKey(nil, cr.prefix, level0, 0, 0)
	if err := cr.intact(first, cr.level1Start()); err != nil {
		return err
	}
	for ok := cr.iter.SeekGE(first); ok && cr.isAtLevel(level0); ok = cr.iter.Next() {
		h, err := cr.header()
		if err != nil {
			return err
		}
		value, err := cr.iter.ValueAndErr()
		if err != nil {
			return err
		}
		if err := do(h, value); err != nil {
			return err
		}
	}
	return cr.iter.Error()
}

// loadLevel0 decodes the chunks of level 0 that overlap the event times from "first" to "last".
func (cr *chunkReader) loadLevel0(first, last int64) error {
	return cr.eachLevel0(func(h chunk.Header, data []byte) error {
		if h.MaxTime < first || h.MinTime > last {
			return nil
		}
		c := new(chunk.Chunk)
		cr.level0 = append(cr.level0, c)
		return cr.reportBroken(c.Decode(cr.series, data))
	})
}

// eachLevel1 calls the function "do" for every chunk of level 1 that may hold a reading with a given
// event time.
func (cr *chunkReader) eachLevel1(at int64, do func(c *chunk.Chunk)) error {
	if at == math.MaxInt64 {
		return nil
	}
	// The positions of chunks of level 1 are disjoint. So the reading can only be in the last chunk
	// that starts at or before its time, or in earlier chunks that end at its time.
	seek := appendChunkKey(nil, cr.prefix, level1, at+1, 0)
	end := seek
	for ok := cr.iter.SeekLT(seek); ; ok = cr.iter.Prev() {
		if !ok || !cr.isAtLevel(level1) {
			if err := cr.iter.Error(); err != nil {
				return err
			}
			return cr.intact(cr.level1Start(), end)
		}
		if err := cr.intact(cr.iter.Key(), end); err != nil {
			return err
		}
		end = slices.Clone(cr.iter.Key())
		if err := cr.decodeLevel1(); err != nil {
			return err
		}
		if cr.level1.MaxTime < at {
			return nil
		}
		do(&cr.level1)
		if cr.level1.MinTime < at {
			return nil
		}
	}
}

func (cr *chunkReader) decodeLevel1() error {
	if bytes.Equal(cr.key, cr.iter.Key()) {
		return nil
	}
	value, err := cr.iter.ValueAndErr()
	if err != nil {
		return err
	}
	cr.key = slices.Clone(cr.iter.Key())
	if err := cr.level1.Decode(cr.series, value); err != nil {
		cr.key = nil
		return cr.reportBroken(err)
	}
	return nil
}

func findPosition(c *chunk.Chunk, p varve.Position) (int, bool) {
	compare := func(i int) int {
		if t := c.Time(i); t != p.Time {
			return cmp.Compare(p.Time, t)
		}
		return p.ID.Compare(c.ID(i))
	}
	return sort.Find(c.Len(), compare)
}

// lookUp looks up readings of one event time in the chunks of level 1, and in the decoded ones of level 0.
// The caller has sorted the readings by id. So each chunk of level 1 is searched only for ids in its range.
func (cr *chunkReader) lookUp(late []*lookup) error {
	for _, l := range late {
		l.inChunk = varve.Verdict{}
		for _, c := range cr.level0 {
			l.searchChunk(c)
		}
	}
	return cr.eachLevel1(late[0].reading.Time.UnixNano(), func(c *chunk.Chunk) {
		first, last := positionIn(c, 0), positionIn(c, c.Len()-1)
		begin := sort.Search(len(late), func(i int) bool { return late[i].reading.Position().Compare(first) >= 0 })
		for _, l := range late[begin:] {
			if l.reading.Position().Compare(last) > 0 {
				break
			}
			l.searchChunk(c)
		}
	})
}

func positionIn(c *chunk.Chunk, i int) varve.Position {
	return varve.Position{Time: c.Time(i), ID: c.ID(i)}
}
