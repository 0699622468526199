package rollup

import (
	"maps"
	"slices"

	"github.com/varvedb/varve"
)

// replacingSlots are the slots of a recount whose stored partials replace partials of earlier
// arrival days, because they count corrected readings.
//
// Such a partial cannot be recomputed after readings of earlier arrival days are deleted. Then it
// stays, and the readings that arrived in the slot since then are added to it. Corrections among these
// readings do not count.
type replacingSlots map[slot]*replacingSlot

type replacingSlot struct {
	partial  *Partial
	readings []arrivedReading // first copies of the readings in the slot, stored before or after the partial
}

type arrivedReading struct {
	reading   varve.Reading
	corrected bool // whether the reading has a version, or another version of it exists
}

func (s *replacingSlots) add(at slot, p *Partial) {
	if *s == nil {
		*s = replacingSlots{}
	}
	(*s)[at] = &replacingSlot{partial: p}
}

func (s replacingSlots) has(at slot) bool { return s[at] != nil }

// removeLater removes and returns the slots whose partials may have readings with an arrival at or after
// a time.
func (s replacingSlots) removeLater(at int64) map[slot]bool {
	later := map[slot]bool{}
	maps.DeleteFunc(s, func(of slot, o *replacingSlot) bool {
		later[of] = o.partial.arrived == arrivals{} || o.partial.arrived.last >= at
		return later[of]
	})
	return later
}

// addReading adds the first copy of a reading, if s contains its slot.
func (s replacingSlots) addReading(at slot, r *varve.Reading, corrected bool) {
	if o := s[at]; o != nil {
		o.readings = append(o.readings, arrivedReading{r.Clone(), corrected})
	}
}

// arrivedSince returns the readings that arrived since the partial was stored. It returns false if the
// readings of the partial are not all stored.
func (o *replacingSlot) arrivedSince() ([]arrivedReading, bool) {
	n := o.partial.identity().readings
	if n > int64(len(o.readings)) {
		return nil, false
	}
	slices.SortStableFunc(o.readings, func(a, b arrivedReading) int { return a.reading.Arrived.Compare(b.reading.Arrived) })
	digest := uint64(0)
	for i := range o.readings[:n] {
		digest += digestOf(o.readings[i].reading.Position())
	}
	return slices.Clone(o.readings[n:]), digest == o.partial.digest
}

// sketchOriginal adds the original of a corrected reading to the sketch. By the original, a recount
// recognizes versions that arrive after the table of the reading was dropped.
func (t *tally) sketchOriginal(r *arrivedReading) {
	p := r.reading.Position()
	if t.sketch == nil || !r.corrected || p.ID.Version() == 0 {
		return
	}
	p.ID = p.ID.WithVersion(0)
	t.sketch.add(entryOf(p))
}
