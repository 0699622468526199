package local

import (
	"sort"

	"github.com/varvedb/varve"
)

// lookUpSingle looks up a reading in the chunk of level 1 that was decoded last. It compares the
// values of the fields, so that it computes no content id and reads no further chunk. Resent
// readings mostly follow each other in one chunk.
//
// It returns false if it cannot decide, and the caller must search all chunks. That happens if the
// chunk has several readings of that time, or if other chunks may have one. It also happens while any
// range of keys is lost, or if one of the compared readings has an id from its sender.
func (cr *chunkReader) lookUpSingle(l *lookup) bool {
	c, at := &cr.level1, l.reading.Time.UnixNano()
	if cr.key == nil || len(cr.level0) > 0 || len(cr.db.ledger.all()) > 0 || l.ownID || at <= c.MinTime || at >= c.MaxTime {
		return false
	}
	i := cr.seek(at)
	l.inChunk = varve.Verdict{}
	switch {
	case c.Time(i) != at:
		return true
	case c.Time(i+1) == at || !c.Derived(i): // MaxTime of the chunk is after "at", so reading i+1 exists
		return false
	}
	if c.Block.HasFields(i, l.reading.Fields) {
		l.inChunk = varve.Verdict{Outcome: varve.Duplicate}
	}
	return true
}

// seek returns the index of the first reading at or after a time in the chunk that was decoded
// last. The chunk must have such a reading. The search begins at the previous result, which is
// usually close to the new one.
func (cr *chunkReader) seek(at int64) int {
	const near = 4
	c := &cr.level1
	for range near {
		if cr.at >= c.Len() || c.Time(cr.at) >= at {
			break
		}
		cr.at++
	}
	if cr.at >= c.Len() || c.Time(cr.at) < at || cr.at > 0 && c.Time(cr.at-1) >= at {
		cr.at = sort.Search(c.Len(), func(i int) bool { return c.Time(i) >= at })
	}
	return cr.at
}
