package memtable

import (
	"slices"
	"sort"

	"github.com/varvedb/varve"
)

// Rows holds the readings of one series in one table, sorted by position. It consists of blocks,
// so that an insert at the front moves few rows.
type Rows struct {
	blocks [][]Row // no block is empty
	n      int     // rows in all blocks
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
	// rowBytes is the size of a row without its body.
	rowBytes = 16
	// blockRows is the maximum number of rows in a block.
	blockRows = 512
)

// Spot is an index in Rows.
type Spot struct{ block, i int }

// Len returns the number of rows.
func (r *Rows) Len() int { return r.n }

// All returns copies of all rows.
func (r *Rows) All() []Row { return r.FirstRows(r.n, Spot{}, r.End()) }

// End returns the spot after the last row.
func (r *Rows) End() Spot { return Spot{len(r.blocks), 0} }

// Last returns the last row. At least one must exist.
func (r *Rows) Last() Row {
	b := r.blocks[len(r.blocks)-1]
	return b[len(b)-1]
}

// LastTime returns the last event time, or NoTime.
func (r *Rows) LastTime() int64 {
	if r.n == 0 {
		return NoTime
	}
	return r.Last().Time
}

// append adds rows after the last row.
func (r *Rows) append(rows []Row) {
	r.n += len(rows)
	for len(rows) > 0 {
		b := len(r.blocks) - 1
		if b < 0 || len(r.blocks[b]) >= blockRows {
			r.blocks = append(r.blocks, nil)
			b++
		}
		if b > 0 && r.blocks[b] == nil {
			r.blocks[b] = make([]Row, 0, blockRows)
		}
		n := min(len(rows), blockRows-len(r.blocks[b]))
		r.blocks[b] = append(r.blocks[b], rows[:n]...)
		rows = rows[n:]
	}
}

// Seek returns the spot of the first row at or after a position.
func (r *Rows) Seek(c *Content, p varve.Position) Spot {
	if r.n == 0 || r.Last().Time < p.Time {
		return r.End() // the most common case
	}
	// The last block that begins before the position, or the first block.
	b := max(sort.Search(len(r.blocks), func(i int) bool { return c.compare(r.blocks[i][0], p) >= 0 })-1, 0)
	block := r.blocks[b]
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

// FindReading is like Find for the position of a reading. It computes the content id only if
// a row has its event time.
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
func (r *Rows) At(at Spot) Row { return r.blocks[at.block][at.i] }

// insert adds a row at a spot that Find or FindReading returned for the position of the row.
func (r *Rows) insert(at Spot, w Row) {
	r.n++
	if at.i == 0 && at.block > 0 {
		// The end of the previous block is the same spot.
		at.block--
		at.i = len(r.blocks[at.block])
	}
	if at.block == len(r.blocks) {
		r.blocks = append(r.blocks, []Row{w})
		return
	}
	block := r.blocks[at.block]
	if len(block) < blockRows {
		r.blocks[at.block] = slices.Insert(block, at.i, w)
		return
	}
	if at.i == len(block) {
		r.blocks = slices.Insert(r.blocks, at.block+1, append(make([]Row, 0, blockRows), w))
		return
	}
	half := len(block) / 2
	right := append(make([]Row, 0, blockRows), block[half:]...)
	r.blocks[at.block] = block[:half]
	r.blocks = slices.Insert(r.blocks, at.block+1, right)
	if at.i > half {
		at = Spot{at.block + 1, at.i - half}
	}
	r.blocks[at.block] = slices.Insert(r.blocks[at.block], at.i, w)
}

// FirstRows returns copies of the first rows between two spots, at most n.
func (r *Rows) FirstRows(n int, from, to Spot) (rows []Row) {
	for b := from.block; b < len(r.blocks) && b <= to.block && len(rows) < n; b++ {
		block := r.part(b, from, to)
		if rows == nil {
			rows = make([]Row, 0, min(n, len(block)+(min(to.block, len(r.blocks)-1)-b)*blockRows))
		}
		rows = append(rows, block[:min(len(block), n-len(rows))]...)
	}
	return rows
}

// LastRows returns copies of the last rows between two spots, at most n.
func (r *Rows) LastRows(n int, from, to Spot) []Row {
	b := min(to.block, len(r.blocks)-1)
	for have := 0; b >= from.block; b-- {
		if have += len(r.part(b, from, to)); have >= n {
			break
		}
	}
	rows := r.FirstRows(r.n, Spot{max(b, from.block), 0}.OrLater(from), to)
	return rows[max(len(rows)-n, 0):]
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

// part returns the rows of a block between two spots.
func (r *Rows) part(b int, from, to Spot) []Row {
	block := r.blocks[b]
	begin, end := 0, len(block)
	if b == from.block {
		begin = from.i
	}
	if b == to.block {
		end = to.i
	}
	return block[begin:max(begin, end)]
}
