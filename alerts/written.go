package alerts

import (
	"slices"
	"time"

	"github.com/varvedb/varve"
)

const (
	// farApart is the minimum time between two parts of a write that are evaluated separately. If a write
	// has an old and a new reading, an evaluation of both would read all stored readings between them. An
	// upload of hourly readings has one part.
	farApart = 24 * time.Hour
	// maxParts bounds the parts of a write, because each of them needs reads of records.
	maxParts = 8
)

// writes has the readings of a write in parts that are far apart, sorted by position.
type writes []written

// written summarizes readings of a write that matter to the rule, or may matter.
type written struct {
	span
	holds bool // the condition holds for all these readings
	fails bool // the condition fails for all these readings
}

// add adds the position of a reading, and whether the condition may hold or may fail for it.
func (w *writes) add(p varve.Position, mayHold, mayFail bool) {
	if !mayHold && !mayFail {
		return
	}
	i := len(*w) // most readings are sorted, so search from the end
	for i > 0 && p.Compare((*w)[i-1].lo) < 0 {
		i--
	}
	*w = slices.Insert(*w, i, written{span: span{lo: p, hi: p, mayHold: mayHold}, holds: !mayFail, fails: !mayHold})
	if i+1 < len(*w) && w.distance(i+1) < farApart {
		w.join(i + 1)
	}
	if i > 0 && w.distance(i) < farApart {
		w.join(i)
	}
	if len(*w) > maxParts {
		w.joinClosest()
	}
}

// distance returns the time between the part before i and part i.
func (w *writes) distance(i int) time.Duration {
	return time.Duration((*w)[i].lo.Time - (*w)[i-1].hi.Time)
}

// join merges part i into the part before it.
func (w *writes) join(i int) {
	a, b := &(*w)[i-1], &(*w)[i]
	if b.lo == a.lo { // a reading and its correction
		a.mayHold = a.mayHold || b.mayHold
	}
	if b.hi.Compare(a.hi) > 0 {
		a.hi = b.hi
	}
	a.holds, a.fails = a.holds && b.holds, a.fails && b.fails
	*w = slices.Delete(*w, i, i+1)
}

func (w *writes) joinClosest() {
	closest := 1
	for i := 2; i < len(*w); i++ {
		if w.distance(i) < w.distance(closest) {
			closest = i
		}
	}
	w.join(closest)
}
