package local

import (
	"slices"
	"strings"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store/local/chunk"
)

// tail is what is not in chunks yet of one series in one table. All of it is
// guarded by Store.mu.
type tail struct {
	table  *table
	series varve.Series

	// edge is the last event time in chunks, and smalls the number of chunks
	// of level 0, if known; noTime and 0 if there are no chunks.
	known  bool
	edge   int64
	smalls int

	// runs are the readings that are in the two heads, by Store.active.
	runs [2]run
	// cleared counts how often a run has become chunks: what was read from
	// chunks before that is out of date.
	cleared uint32

	// newest is the last reading by event time in chunks, once it has been
	// asked for; it is good as long as cleared is newestOf.
	newest   *varve.Reading
	newestOf uint32

	// place is the series' number in the journal record of the given count, so
	// that a record names each series once.
	record uint64
	place  uint64
}

const noTime = -1

// run is readings of one series in one table, sorted by position.
type run struct {
	rows []row
	data []byte // their bodies; only ever appended to
}

// row is one reading of a run.
type row struct {
	time  int64
	hash  uint64 // of the id; of its text if it has one
	at    uint32 // where its body begins
	shape uint32 // its field names, in the head's shapes
}

// rowBytes is what a row takes besides its body.
const rowBytes = 24

// head is the readings that are not in chunks, of all series: the tails' runs
// with its parity. One head is active; the one before it may be frozen while
// it becomes chunks.
type head struct {
	parity   int
	segment  uint64 // the last journal segment with its readings, once frozen
	tails    []*tail
	readings int64
	bytes    int64
	shapes   [][]string
	shapeIDs map[string]uint32
}

func newHead(parity int) *head {
	return &head{parity: parity, shapeIDs: map[string]uint32{}}
}

// tailBytes is about what a tail takes besides its rows.
const tailBytes = 300

// add puts a reading into a tail at its place in the run.
func (h *head) add(t *tail, place int, w row, body []byte) {
	run := &t.runs[h.parity]
	bytes := int64(rowBytes + len(body))
	if len(run.rows) == 0 {
		h.tails = append(h.tails, t)
		bytes += tailBytes
	}
	w.at = uint32(len(run.data))
	run.data = append(run.data, body...)
	run.rows = slices.Insert(run.rows, place, w)
	h.readings++
	h.bytes += bytes
	count := &t.table.heads[h.parity]
	count.readings++
	count.bytes += bytes
}

// shape returns the number of a reading's field names. Readings mostly have
// those of the one before.
func (h *head) shape(fields []varve.Field, last uint32) uint32 {
	if int(last) < len(h.shapes) && hasShape(fields, h.shapes[last]) {
		return last
	}
	var key strings.Builder
	for i := range fields {
		key.WriteString(fields[i].Name)
		key.WriteByte(0)
	}
	id, ok := h.shapeIDs[key.String()]
	if !ok {
		names := make([]string, len(fields))
		for i := range fields {
			names[i] = strings.Clone(fields[i].Name)
		}
		id = uint32(len(h.shapes))
		h.shapes = append(h.shapes, names)
		h.shapeIDs[key.String()] = id
	}
	return id
}

func hasShape(fields []varve.Field, shape []string) bool {
	if len(fields) != len(shape) {
		return false
	}
	for i := range fields {
		if fields[i].Name != shape[i] {
			return false
		}
	}
	return true
}

// hashOf is what a row keeps of an id.
func hashOf(id varve.ID) uint64 {
	if hash, ok := id.Hash(); ok {
		return hash
	}
	return hashText(id.String())
}

// id returns the id of a row.
func (r *run) id(i int) varve.ID {
	b := bodyReader{data: r.data[r.rows[i].at:]}
	if id := b.id(); !id.IsZero() {
		return id
	}
	return varve.HashID(r.rows[i].hash)
}

// find returns where a position is or would be.
func (r *run) find(at int64, id varve.ID) (int, bool) {
	n := len(r.rows)
	if n == 0 || r.rows[n-1].time < at {
		return n, false
	}
	i, _ := slices.BinarySearchFunc(r.rows, at, func(w row, at int64) int {
		if w.time < at {
			return -1
		}
		return 1 // the first of equal times
	})
	for ; i < n && r.rows[i].time == at; i++ {
		if c := r.id(i).Compare(id); c >= 0 {
			return i, c == 0
		}
	}
	return i, false
}

// view is a run, or a part of it, as rows that can be read without the lock.
type view struct {
	series varve.Series
	base   int64
	shapes [][]string
	run
}

func (v *view) Len() int            { return len(v.rows) }
func (v *view) Time(i int) int64    { return v.rows[i].time }
func (v *view) ID(i int) varve.ID   { return v.id(i) }
func (v *view) Arrived(i int) int64 { return bodyArrived(v.data[v.rows[i].at:], v.base) }

func (v *view) Fill(i int, r *varve.Reading, arena *chunk.Arena) error {
	w := v.rows[i]
	r.Series = v.series
	r.Time = time.Unix(0, w.time).UTC()
	return readBody(v.data[w.at:], v.base, v.shapes[w.shape], r, arena)
}
