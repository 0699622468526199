package local

import (
	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store/local/memtable"
)

// group is the consecutive readings of one series in a write.
type group struct {
	table    *table
	tail     *tail
	readings []varve.Reading
	verdicts []varve.Verdict
	rows     []memtable.Entry
	first    int64  // the earliest event time
	done     int    // the number of inserted readings
	shape    uint32 // the field names of the last one, in the memtable

	// lookups has an element for each reading, once some must be looked up in chunks. They are
	// answered if asked is set, as long as cleared is that of the tail.
	lookups []lookup
	asked   bool
	cleared uint64
}

// lookup is the search for one reading in chunks.
type lookup struct {
	group   *group
	reading *varve.Reading
	ownID   bool          // its id differs from its content id
	inChunk varve.Verdict // the verdict if chunks have the reading or are damaged
}

// settled reports whether it is known for all readings if chunks have them. The caller holds the
// lock.
func (g *group) settled() bool {
	if g.tail.gone {
		return false
	}
	return g.tail.known && g.first > g.tail.edge || g.asked && g.cleared == g.tail.cleared
}

// appendLate appends the lookups of the readings that chunks may have. The caller holds the
// lock.
func (g *group) appendLate(late []*lookup) []*lookup {
	if g.lookups == nil {
		g.lookups = make([]lookup, len(g.rows))
		for i := range g.lookups {
			g.lookups[i] = lookup{group: g, reading: &g.readings[i], ownID: g.rows[i].OwnID}
		}
	}
	g.asked, g.cleared = true, g.tail.cleared // or the write fails
	for i := g.done; i < len(g.rows); i++ {
		if !g.tail.known || g.rows[i].Time <= g.tail.edge {
			memtable.SetID(&g.readings[i])
			late = append(late, &g.lookups[i])
		}
	}
	return late
}

// ascending returns the number of readings from index i to end, that follow each other and
// everything in the tail in time, and have the field names of g.shape.
func (g *group) ascending(h *memtable.Memtable, i, end int) int {
	last := max(g.tail.rows[0].LastTime(), g.tail.rows[1].LastTime())
	from := i
	for ; i < end && g.rows[i].Time > last; i++ {
		if g.lookups != nil && g.lookups[i].inChunk.Outcome != 0 {
			break
		}
		if i > from && !h.HasShape(g.readings[i].Fields, g.shape) {
			break
		}
		last = g.rows[i].Time
	}
	return i - from
}

// meeting is a reading with an own id, and the stored row with its identity.
type meeting struct {
	reading *varve.Reading
	verdict *varve.Verdict
	stored  *memtable.View
}
