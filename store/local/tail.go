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

	// gone: nothing was in it but what can be found again, and it was taken out
	// of its table. Who has it must look for the series' tail again.
	gone bool

	// edge is the last event time in chunks, and smalls the number of chunks
	// of level 0, if known; noTime and 0 if there are no chunks.
	known  bool
	edge   int64
	smalls int

	// runs are the readings that are in the two heads, by Store.active.
	runs [2]run
	// cleared is Store.clears as it was when a run became chunks, or when the
	// tail was made: what was read from chunks before that is out of date.
	cleared uint64

	// newest is the last reading by event time in chunks, once it has been
	// asked for; it is good as long as cleared is newestOf.
	newest   *varve.Reading
	newestOf uint64

	// place is the series' number in the journal record of the given count, so
	// that a record names each series once.
	record uint64
	place  uint64
}

const noTime = -1

// makeTail returns the tail of a series, making it if it is not there. The lock
// is held.
func (s *Store) makeTail(t *table, series varve.Series) *tail {
	tl, ok := t.tails[series]
	if !ok {
		series = cloneSeries(series)
		// A table without chunks has none of this series.
		tl = &tail{table: t, series: series, edge: noTime, known: !s.hasChunks(t), cleared: s.clears}
		t.tails[series] = tl
		s.tails++
	}
	return tl
}

// idleTails is how many tails are kept that have no readings, for what they
// know of the series' chunks.
func (s *Store) idleTails() int { return int(max(s.opts.TailBytes/(4*tailBytes), 1000)) }

// crowded reports whether there are so many tails without readings that some
// should be forgotten at once. The lock is held.
func (s *Store) crowded() bool {
	busy := len(s.active.tails)
	if s.frozen != nil {
		busy += len(s.frozen.tails)
	}
	return s.tails > busy+2*s.idleTails()
}

// forgetAtOnce is how many tails are looked at under one lock.
const forgetAtOnce = 5000

// forgetTails takes tails without readings out of their tables, if there are
// too many.
func (s *Store) forgetTails() {
	s.mu.RLock()
	tables := slices.Clone(s.tables.sorted)
	s.mu.RUnlock()
	for _, t := range tables {
		for s.forgetSome(t) {
		}
	}
}

// forgetSome looks at some tails of a table, and reports whether there may be
// more to forget.
func (s *Store) forgetSome(t *table) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	looked, forgot := 0, 0
	for series, tl := range t.tails {
		if s.tails <= s.idleTails() || looked == forgetAtOnce {
			break
		}
		looked++
		if tl.runs[0].n == 0 && tl.runs[1].n == 0 {
			delete(t.tails, series)
			tl.gone = true
			s.tails--
			forgot++
		}
	}
	return s.tails > s.idleTails() && forgot > 0
}

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
func (h *head) add(t *tail, at spot, w row, body []byte) {
	run := &t.runs[h.parity]
	bytes := int64(rowBytes + len(body))
	if run.n == 0 {
		h.tails = append(h.tails, t)
		bytes += tailBytes
	}
	w.at = uint32(len(run.data))
	run.data = append(run.data, body...)
	run.insert(at, w)
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

// view is rows of a run that can be read without the lock.
type view struct {
	series varve.Series
	base   int64
	shapes [][]string
	rows   []row
	data   []byte
}

func (v *view) Len() int            { return len(v.rows) }
func (v *view) Time(i int) int64    { return v.rows[i].time }
func (v *view) ID(i int) varve.ID   { return idOf(v.data, v.rows[i]) }
func (v *view) Arrived(i int) int64 { return bodyArrived(v.data[v.rows[i].at:], v.base) }

func (v *view) Fill(i int, r *varve.Reading, arena *chunk.Arena) error {
	w := v.rows[i]
	r.Series = v.series
	r.Time = time.Unix(0, w.time).UTC()
	err := readFields(v.data[w.at:], v.base, v.shapes[w.shape], r, arena)
	if err == nil && r.ID.IsZero() {
		r.ID = varve.HashID(w.hash)
	}
	return err
}
