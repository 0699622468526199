package memtable

import (
	"slices"
	"sort"
	"sync"
	"sync/atomic"

	"github.com/varvedb/varve"
)

// Rows holds the readings of one series in one table, sorted by position. It consists of blocks,
// so that an insert at the front moves few rows.
type Rows struct {
	blocks []*rowBlock // no block is empty
	n      int         // number of rows in all blocks
}

// rowBlock holds consecutive rows, and refers to their cached columns.
//
// Between two inserts, rows are only appended, or moved from the end to another block. So an index
// refers to the same row, and columns with the current number of inserts are up to date.
type rowBlock struct {
	rows    []Row
	inserts uint32
	read    atomic.Bool            // whether a reader has decoded enough rows of the block to cache them
	packed  atomic.Pointer[packed] // cached columns, which may be out of date
}

// Row is one reading of a series.
type Row struct {
	Time  int64  // ns since 1970
	at    uint32 // offset of the body in the memtable's bodies
	shape uint32 // index of its field names in the memtable's shapes
}

const (
	// NoTime is the last event time of empty Rows. It precedes all event times.
	NoTime = -1
	// rowBytes is the size of a row without its body, in bytes.
	rowBytes = 16
)

// lastShape returns the shape of the last row. Empty rows have none.
func (r *Rows) lastShape() (shape uint32, ok bool) {
	if r.n == 0 {
		return 0, false
	}
	rows := r.blocks[len(r.blocks)-1].rows
	return rows[len(rows)-1].shape, true
}

// blockRows is the maximum number of rows in a block. Tests reduce it.
var blockRows = 512

// Spot is an index in Rows.
type Spot struct{ block, i int }

// Len returns the number of rows.
func (r *Rows) Len() int { return r.n }

// All returns copies of all rows.
func (r *Rows) All() []Row { return r.FirstRows(r.n, Spot{}, r.End()).rows }

// End returns the spot after the last row.
func (r *Rows) End() Spot { return Spot{len(r.blocks), 0} }

// Last returns the last row. At least one must exist.
func (r *Rows) Last() Row {
	rows := r.blocks[len(r.blocks)-1].rows
	return rows[len(rows)-1]
}

// LastTime returns the last event time, or NoTime.
func (r *Rows) LastTime() int64 {
	if r.n == 0 {
		return NoTime
	}
	return r.Last().Time
}

func (r *Rows) append(rows []Row) {
	r.n += len(rows)
	for len(rows) > 0 {
		b := len(r.blocks) - 1
		if b < 0 || len(r.blocks[b].rows) >= blockRows {
			r.blocks = append(r.blocks, &rowBlock{})
			b++
		}
		block := r.blocks[b]
		if b > 0 && block.rows == nil {
			block.rows = make([]Row, 0, blockRows)
		}
		n := min(len(rows), blockRows-len(block.rows))
		block.rows = append(block.rows, rows[:n]...)
		rows = rows[n:]
	}
}

// Seek returns the spot of the first row at or after a position.
func (r *Rows) Seek(c *Content, p varve.Position) Spot {
	if r.n == 0 || r.Last().Time < p.Time {
		return r.End() // the most common case
	}
	// Search in the last block that begins before the position, or in the first block.
	b := max(sort.Search(len(r.blocks), func(i int) bool { return c.compare(r.blocks[i].rows[0], p) >= 0 })-1, 0)
	block := r.blocks[b].rows
	i := sort.Search(len(block), func(i int) bool { return c.compare(block[i], p) >= 0 })
	if i == len(block) {
		return Spot{b + 1, 0}
	}
	return Spot{b, i}
}

// Find returns the spot of a position, and whether a row exists there.
func (r *Rows) Find(c *Content, p varve.Position) (Spot, bool) {
	at := r.Seek(c, p)
	return at, at != r.End() && c.compare(r.At(at), p) == 0
}

// FindReading is like Find for the position of a reading. If the id of the reading is zero and a row has
// its event time, FindReading sets the id to the content id.
func (r *Rows) FindReading(c *Content, reading *varve.Reading) (Spot, bool) {
	p := varve.Position{Time: reading.Time.UnixNano()}
	at := r.Seek(c, p)
	if at == r.End() || r.At(at).Time != p.Time {
		return at, false
	}
	SetID(reading)
	p.ID = reading.ID
	return r.Find(c, p)
}

// SetID replaces a zero id with the content id.
func SetID(r *varve.Reading) {
	if r.ID.IsZero() {
		r.ID = r.ContentID()
	}
}

// At returns the row at a spot.
func (r *Rows) At(at Spot) Row { return r.blocks[at.block].rows[at.i] }

// insert adds a row at a spot that Find or FindReading returned for the position of the row.
func (r *Rows) insert(at Spot, w Row) {
	r.n++
	if at.i == 0 && at.block > 0 {
		// Insert at the end of the previous block, which is the same spot.
		at.block--
		at.i = len(r.blocks[at.block].rows)
	}
	if at.block == len(r.blocks) {
		r.blocks = append(r.blocks, &rowBlock{rows: []Row{w}})
		return
	}
	block := r.blocks[at.block]
	if len(block.rows) < blockRows {
		block.insert(at.i, w)
		return
	}
	if at.i == len(block.rows) {
		r.blocks = slices.Insert(r.blocks, at.block+1, &rowBlock{rows: append(make([]Row, 0, blockRows), w)})
		return
	}
	half := len(block.rows) / 2
	right := &rowBlock{rows: append(make([]Row, 0, blockRows), block.rows[half:]...)}
	block.rows = block.rows[:half]
	r.blocks = slices.Insert(r.blocks, at.block+1, right)
	if at.i > half {
		right.insert(at.i-half, w)
		return
	}
	block.insert(at.i, w)
}

// insert adds a row at an index. It makes cached columns out of date.
func (b *rowBlock) insert(i int, w Row) {
	b.rows = slices.Insert(b.rows, i, w)
	b.inserts++
}

// Selection holds copies of rows, and refers to their cached columns.
type Selection struct {
	rows   []Row
	ranges []blockRange
}

var selections = sync.Pool{New: func() any { return new(Selection) }}

// release makes the memory of the selection available to other selections.
func (s *Selection) release() {
	clear(s.ranges) // otherwise, the ranges would keep row blocks of flushed memtables in memory
	s.rows, s.ranges = s.rows[:0], s.ranges[:0]
	selections.Put(s)
}

// Len returns the number of rows.
func (s *Selection) Len() int { return len(s.rows) }

// FirstTime returns the event time of the first row. At least one must exist.
func (s *Selection) FirstTime() int64 { return s.rows[0].Time }

// FirstRows returns the first rows between two spots, at most n.
func (r *Rows) FirstRows(n int, from, to Spot) *Selection {
	s := selections.Get().(*Selection)
	for b := from.block; b < len(r.blocks) && b <= to.block && len(s.rows) < n; b++ {
		begin, end := r.part(b, from, to)
		if end == begin {
			continue
		}
		if len(s.rows) == 0 {
			blocks := min(to.block, len(r.blocks)-1) - b
			s.rows = slices.Grow(s.rows, min(n, end-begin+blocks*blockRows))
			s.ranges = slices.Grow(s.ranges, blocks+1)
		}
		s.add(r.blocks[b], begin, begin+min(end-begin, n-len(s.rows)))
	}
	return s
}

// add adds the rows i of a row block with begin <= i < end.
func (s *Selection) add(b *rowBlock, begin, end int) {
	from := len(s.rows)
	s.rows = append(s.rows, b.rows[begin:end]...)
	cached := b.packed.Load()
	if cached != nil && cached.inserts != b.inserts {
		cached = nil
	}
	s.ranges = append(s.ranges, blockRange{home: b, cached: cached, inserts: b.inserts, first: begin, from: from, to: len(s.rows)})
}

// LastRows returns the last rows between two spots, at most n.
func (r *Rows) LastRows(n int, from, to Spot) *Selection {
	have := 0
	for b := min(to.block, len(r.blocks)-1); b >= from.block; b-- {
		begin, end := r.part(b, from, to)
		if have += end - begin; have >= n {
			from = Spot{b, begin + have - n}
			break
		}
	}
	return r.FirstRows(n, from, to)
}

// Next returns the spot after the row at s.
func (s Spot) Next() Spot { return Spot{s.block, s.i + 1} }

// OrLater returns the later of two spots.
func (s Spot) OrLater(t Spot) Spot {
	if s.block > t.block || s.block == t.block && s.i > t.i {
		return s
	}
	return t
}

// part returns the range of rows of a block between two spots.
func (r *Rows) part(b int, from, to Spot) (begin, end int) {
	end = len(r.blocks[b].rows)
	if b == from.block {
		begin = from.i
	}
	if b == to.block {
		end = to.i
	}
	return begin, max(begin, end)
}
