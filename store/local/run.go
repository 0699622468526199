package local

import (
	"slices"
	"sort"

	"github.com/varvedb/varve"
)

// run holds the readings of one series in one table, sorted by position. It consists of blocks,
// so that an insert at the front moves few rows.
type run struct {
	blocks [][]row // no block is empty
	n      int     // rows in all blocks
}

// row is one reading of a run.
type row struct {
	time  int64
	at    uint32 // offset of the body in the memtable's bodies
	shape uint32 // index of its field names in the memtable's shapes
}

const (
	// rowBytes is the size of a row without its body.
	rowBytes = 16
	// blockRows is the maximum number of rows in a block.
	blockRows = 512
)

// spot is an index in a run.
type spot struct{ block, i int }

// end returns the spot after the last row.
func (r *run) end() spot { return spot{len(r.blocks), 0} }

// last returns the last row of a run that is not empty.
func (r *run) last() row {
	b := r.blocks[len(r.blocks)-1]
	return b[len(b)-1]
}

// lastTime returns the last event time, or noTime.
func (r *run) lastTime() int64 {
	if r.n == 0 {
		return noTime
	}
	return r.last().time
}

// append adds rows after the last row.
func (r *run) append(rows []row) {
	r.n += len(rows)
	for len(rows) > 0 {
		b := len(r.blocks) - 1
		if b < 0 || len(r.blocks[b]) >= blockRows {
			r.blocks = append(r.blocks, nil)
			b++
		}
		if b > 0 && r.blocks[b] == nil {
			r.blocks[b] = make([]row, 0, blockRows)
		}
		n := min(len(rows), blockRows-len(r.blocks[b]))
		r.blocks[b] = append(r.blocks[b], rows[:n]...)
		rows = rows[n:]
	}
}

// seek returns the spot of the first row at or after a position.
func (r *run) seek(c *content, p varve.Position) spot {
	if r.n == 0 || r.last().time < p.Time {
		return r.end() // the most common case
	}
	// The last block that begins before the position, or the first block.
	b := max(sort.Search(len(r.blocks), func(i int) bool { return c.compare(r.blocks[i][0], p) >= 0 })-1, 0)
	block := r.blocks[b]
	i := sort.Search(len(block), func(i int) bool { return c.compare(block[i], p) >= 0 })
	if i == len(block) {
		return spot{b + 1, 0}
	}
	return spot{b, i}
}

// find returns the spot of a position, and whether a row exists there.
func (r *run) find(c *content, p varve.Position) (spot, bool) {
	at := r.seek(c, p)
	return at, at != r.end() && c.compare(r.at(at), p) == 0
}

// findReading is like find for the position of a reading. It computes the content id only if
// there is a row with its event time.
func (r *run) findReading(c *content, reading *varve.Reading) (spot, bool) {
	p := varve.Position{Time: reading.Time.UnixNano()}
	at := r.seek(c, p)
	if at == r.end() || r.at(at).time != p.Time {
		return at, false
	}
	setID(reading)
	p.ID = reading.ID
	return r.find(c, p)
}

// setID replaces a zero id by the content id.
func setID(r *varve.Reading) {
	if r.ID.IsZero() {
		r.ID = r.ContentID()
	}
}

// at returns the row at a spot.
func (r *run) at(at spot) row { return r.blocks[at.block][at.i] }

// insert adds a row at a spot of find.
func (r *run) insert(at spot, w row) {
	r.n++
	if at.i == 0 && at.block > 0 {
		// The end of the previous block is the same spot.
		at.block--
		at.i = len(r.blocks[at.block])
	}
	if at.block == len(r.blocks) {
		r.blocks = append(r.blocks, []row{w})
		return
	}
	block := r.blocks[at.block]
	if len(block) < blockRows {
		r.blocks[at.block] = slices.Insert(block, at.i, w)
		return
	}
	if at.i == len(block) {
		r.blocks = slices.Insert(r.blocks, at.block+1, append(make([]row, 0, blockRows), w))
		return
	}
	half := len(block) / 2
	right := append(make([]row, 0, blockRows), block[half:]...)
	r.blocks[at.block] = block[:half]
	r.blocks = slices.Insert(r.blocks, at.block+1, right)
	if at.i > half {
		at = spot{at.block + 1, at.i - half}
	}
	r.blocks[at.block] = slices.Insert(r.blocks[at.block], at.i, w)
}

// first returns copies of the first rows between two spots, at most n.
func (r *run) first(n int, from, to spot) (rows []row) {
	for b := from.block; b < len(r.blocks) && b <= to.block && len(rows) < n; b++ {
		block := r.part(b, from, to)
		if rows == nil {
			rows = make([]row, 0, min(n, len(block)+(min(to.block, len(r.blocks)-1)-b)*blockRows))
		}
		rows = append(rows, block[:min(len(block), n-len(rows))]...)
	}
	return rows
}

// lastOf returns copies of the last rows between two spots, at most n.
func (r *run) lastOf(n int, from, to spot) []row {
	b := min(to.block, len(r.blocks)-1)
	for have := 0; b >= from.block; b-- {
		if have += len(r.part(b, from, to)); have >= n {
			break
		}
	}
	rows := r.first(r.n, spot{max(b, from.block), 0}.orLater(from), to)
	return rows[max(len(rows)-n, 0):]
}

// orLater returns the later of two spots.
func (s spot) orLater(t spot) spot {
	if s.block > t.block || s.block == t.block && s.i > t.i {
		return s
	}
	return t
}

// part returns the rows of a block between two spots.
func (r *run) part(b int, from, to spot) []row {
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
