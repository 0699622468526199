package local

import (
	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store/local/memtable"
)

// group has consecutive readings of one series in a write.
type group struct {
	batch    int // index of the group's batch
	table    *table
	shard    int
	buffer   *seriesBuffer
	readings []varve.Reading
	verdicts []varve.Verdict
	rows     []memtable.Entry
	first    int64  // the earliest event time
	done     int    // the number of inserted readings
	shape    uint32 // index of the field names of the last inserted reading

	// lookups has an element for each reading, if some must be looked up in chunks. The results
	// are valid if lookedUp is set and the flush epoch of the series buffer equals the field "epoch".
	lookups  []lookup
	lookedUp bool
	epoch    uint64
}

// lookup is the search for one reading in chunks.
type lookup struct {
	group   *group
	reading *varve.Reading
	ownID   bool          // whether the reading's id differs from its content id
	inChunk varve.Verdict // the verdict if chunks have the reading or are damaged
}

// chunksKnown reports whether each reading of the group is known to be in chunks, or known not to be
// there. The caller has locked the shard.
func (g *group) chunksKnown() bool {
	if g.buffer.evicted {
		return false
	}
	return g.buffer.flushedKnown && g.first > g.buffer.maxFlushed || g.lookedUp && g.epoch == g.buffer.epoch
}

// appendLate appends the lookups of the readings that chunks may have. The caller has locked
// the shard.
func (g *group) appendLate(late []*lookup) []*lookup {
	if g.lookups == nil {
		g.lookups = make([]lookup, len(g.rows))
		for i := range g.lookups {
			g.lookups[i] = lookup{group: g, reading: &g.readings[i], ownID: g.rows[i].OwnID}
		}
	}
	g.lookedUp, g.epoch = true, g.buffer.epoch // set before the lookup, because the write fails if the lookup fails
	for i := g.done; i < len(g.rows); i++ {
		if !g.buffer.flushedKnown || g.rows[i].Time <= g.buffer.maxFlushed {
			late = append(late, &g.lookups[i])
		}
	}
	return late
}

// countAscending returns how many readings, beginning at index i and before index "end", can be
// appended together. Their event times ascend, and are after all rows of the series buffer. Chunks do
// not have these readings. All of them have the same field names, whose index becomes g.shape. Readings
// that are stored already must not add an index, because they alone would never cause a flush.
func (g *group) countAscending(mt *memtable.Shard, i, end int) int {
	last := max(g.buffer.rows[0].LastTime(), g.buffer.rows[1].LastTime())
	from := i
	for ; i < end && g.rows[i].Time > last; i++ {
		if g.lookups != nil && g.lookups[i].inChunk.Outcome != 0 {
			break
		}
		if i == from {
			g.shape = mt.Shape(g.readings[i].Fields, g.shape)
		} else if !mt.HasShape(g.readings[i].Fields, g.shape) {
			break
		}
		last = g.rows[i].Time
	}
	return i - from
}

// meeting is a reading with an id from its sender, and the stored row with the same identity.
type meeting struct {
	reading *varve.Reading
	verdict *varve.Verdict
	stored  *memtable.View
}
