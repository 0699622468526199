package local

import (
	"slices"
	"strings"

	"github.com/varvedb/varve"
)

// tail is the series buffer: the readings of one series in one table that are not in chunks.
// Store.mu guards it.
type tail struct {
	table  *table
	series varve.Series

	// gone means that the tail was idle and was evicted from its table. Its holders must look up
	// the tail of the series.
	gone bool

	// edge is the last event time in chunks, and smalls the number of chunks of level 0. Both
	// are valid if known is set. Without chunks they are noTime and 0.
	known  bool
	edge   int64
	smalls int

	// runs holds the readings of the two memtables, indexed by parity.
	runs [2]run
	// cleared is the value of Store.clears at the last flush of a run, or at the creation of the
	// tail. Results that were read from chunks before are out of date.
	cleared uint64

	// newest caches the last reading by event time in chunks. It is valid while cleared equals
	// newestOf.
	newest   *varve.Reading
	newestOf uint64

	// place is the index of the series in the journal record with the given count. So a record
	// names each series once.
	record uint64
	place  uint64
}

const noTime = -1

// makeTail returns the tail of a series, and creates it if it is missing. The caller holds the
// lock.
func (s *Store) makeTail(t *table, series varve.Series) *tail {
	tl, ok := t.tails[series]
	if !ok {
		series = cloneSeries(series)
		// A table without chunks has no chunks of this series.
		tl = &tail{table: t, series: series, edge: noTime, known: !s.hasChunks(t), cleared: s.clears}
		t.tails[series] = tl
		s.tails++
	}
	return tl
}

// idleTails returns the number of tails without readings that are kept, because they cache facts
// about chunks.
func (s *Store) idleTails() int { return int(max(s.opts.TailBytes/(4*tailBytes), 1000)) }

// crowded reports whether so many tails are idle that some should be evicted at once. The caller
// holds the lock.
func (s *Store) crowded() bool {
	busy := len(s.active.tails)
	if s.frozen != nil {
		busy += len(s.frozen.tails)
	}
	return s.tails > busy+2*s.idleTails()
}

// forgetAtOnce is the number of tails that are examined under one lock.
const forgetAtOnce = 5000

// forgetTails evicts idle tails from their tables, if they are too many.
func (s *Store) forgetTails() {
	s.mu.RLock()
	tables := slices.Clone(s.tables.sorted)
	s.mu.RUnlock()
	for _, t := range tables {
		for s.forgetSome(t) {
		}
	}
}

// forgetSome examines some tails of a table, and reports whether more may have to be evicted.
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

// head is a memtable: the runs of all tails with its parity. One head is mutable. The previous
// one may be immutable, while it is flushed.
type head struct {
	parity   int
	segment  uint64 // the last journal segment with its readings, once immutable
	tails    []*tail
	readings int64
	bytes    int64
	content
	shapeIDs map[string]uint32
}

func newHead(parity int) *head {
	return &head{parity: parity, shapeIDs: map[string]uint32{}}
}

// tailBytes is the approximate size of a tail without its rows.
const tailBytes = 300

// append adds readings after all others of a tail. Bodies are their bodies, one after another.
func (h *head) append(t *tail, rows []newRow, shape uint32, bodies []byte) {
	run := &t.runs[h.parity]
	h.count(t, len(rows), len(bodies))
	for len(rows) > 0 {
		var some [64]row
		n := h.fitting(rows[:min(len(rows), len(some))])
		size := rows[n-1].to - rows[0].from
		begin := h.bodies.append(bodies[:size]) - rows[0].from
		for i := range n {
			some[i] = row{time: rows[i].time, at: begin + rows[i].from, shape: shape}
		}
		run.append(some[:n])
		rows, bodies = rows[n:], bodies[size:]
	}
}

// fitting returns the number of rows whose bodies fit into the current page, and at least 1.
func (h *head) fitting(rows []newRow) int {
	n, room := len(rows), h.bodies.room()
	for n > 1 && int(rows[n-1].to-rows[0].from) > room {
		n--
	}
	return n
}

// insert adds a reading at a spot of a tail.
func (h *head) insert(t *tail, at spot, w newRow, shape uint32, body []byte) {
	run := &t.runs[h.parity]
	h.count(t, 1, len(body))
	run.insert(at, row{time: w.time, at: h.bodies.append(body), shape: shape})
}

// count counts n readings with their bodies, which are about to be added to a tail.
func (h *head) count(t *tail, n, body int) {
	bytes := int64(n*rowBytes + body)
	if t.runs[h.parity].n == 0 {
		h.tails = append(h.tails, t)
		bytes += tailBytes
	}
	h.readings += int64(n)
	h.bytes += bytes
	count := &t.table.heads[h.parity]
	count.readings += int64(n)
	count.bytes += bytes
}

// shape returns the index of a reading's field names. It tries the names of the previous reading
// first, because they are usually equal.
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
