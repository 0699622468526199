package rollup

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
)

// recount formats readings, which must be in order, in the format of show.
type recount struct {
	resent     Resent
	blank      tally                // the settings of tallies
	slots      map[slot]bool        // the slots to compute; nil for all
	earlier    map[int64]partialSet // stored partials, by hour
	aggregates map[slot]*aggregate
	inTables   map[slot]*summary // the readings of stored partials that are still in tables
	err        error
}

// aggregate is one slot of a recount.
type aggregate struct {
	total      *tally
	filter     *copyFilter // nil if no partial of an earlier arrival day exists
	copiesSeen bool        // copies of readings that count elsewhere were found
	unclear    int         // unclear readings that are ignored
}

func emptyAggregate() *aggregate { return &aggregate{total: &tally{list: &readingList{}}} }

// newRecount returns a recount of slots. The partials of dirty slots are ignored.
func newRecount(resent Resent, blank tally, slots, dirty map[slot]bool, partials partialSet) *recount {
	c := &recount{
		resent: resent, blank: blank, slots: slots, earlier: map[int64]partialSet{},
		aggregates: make(map[slot]*aggregate, len(slots)), inTables: map[slot]*summary{},
	}
	hours := map[int64]bool{}
	for at := range slots {
		hours[at.hour] = true
	}
	for at, p := range partials {
		if p.Readings == 0 || dirty[at] || slots != nil && !hours[at.hour] {
			continue
		}
		if c.earlier[at.hour] == nil {
			c.earlier[at.hour] = partialSet{}
		}
		c.earlier[at.hour][at], c.inTables[at] = p, &summary{}
	}
	return c
}

// add adds a copy. Copies must come in the order of their positions.
func (c *recount) add(x store.Copy) error {
	r := x.Reading
	at := slot{hourOf(r.Time.Unix()), dayOf(r.Arrived.Unix())}
	if len(c.inTables) > 0 && x.First {
		if n := c.inTables[at]; n != nil {
			n.add(summary{1, digestOf(r.Position())})
		}
	}
	switch a := c.aggregate(at); {
	case a == nil:
	case !x.First:
		a.copiesSeen = true
	case a.filter != nil:
		a.filter.add(r)
	default:
		a.total.add(r)
	}
	return nil
}

// aggregate returns the aggregate of a slot. It is nil if the slot is not to be computed.
func (c *recount) aggregate(at slot) *aggregate {
	a, ok := c.aggregates[at]
	if ok || c.slots != nil && !c.slots[at] {
		return a
	}
	a = &aggregate{total: c.blank.newEmpty()}
	c.aggregates[at] = a
	if c.earlier[at.hour] == nil {
		return a
	}
	readings := earlierReadings{fingerprints: map[uint32]bool{}, minutes: map[int][]summary{}}
	found := false
	for o, p := range c.earlier[at.hour] {
		if o.arrival < at.arrival {
			found = true
			if err := readings.add(p); err != nil {
				c.err = cmp.Or(c.err, fmt.Errorf("partial of %s: %w", o, err))
			}
		}
	}
	if found {
		a.filter = newCopyFilter(readings, c.blank)
	}
	return a
}

// finish ends the recount, and decides on all readings that filters hold back.
func (c *recount) finish() error {
	for at := range c.slots {
		c.aggregate(at)
	}
	for at, a := range c.aggregates {
		if a.filter != nil {
			a.resolveCopies(c.hasAllEarlier(at), c.resent)
		}
	}
	return c.err
}

// hasAllEarlier reports whether all readings of earlier partials are still in tables. If so,
// the first copies of the slot are not among them.
func (c *recount) hasAllEarlier(at slot) bool {
	for o, p := range c.earlier[at.hour] {
		if o.arrival < at.arrival && *c.inTables[o] != (summary{p.Readings, p.digest}) {
			return false
		}
	}
	return true
}

// resolveCopies adds the readings of the filter that count.
func (a *aggregate) resolveCopies(hasAllEarlier bool, resent Resent) {
	f := a.filter
	a.total = f.finish()
	unclear := f.unclear.sum.Readings
	switch {
	case hasAllEarlier:
		a.total.absorb(f.known)
		a.total.absorb(f.unclear)
		return
	case resent == CountResent:
		f.unclear.list.setUnclear()
		a.total.absorb(f.unclear)
	default:
		a.unclear = int(unclear)
		a.copiesSeen = a.copiesSeen || unclear > 0
	}
	a.copiesSeen = a.copiesSeen || f.known.sum.Readings > 0
}

// partial returns the partial of the slot.
func (a *aggregate) partial() *Partial {
	p := a.total.result()
	p.copiesSeen = a.copiesSeen
	return p
}

// recountSlots computes the slots of a recount. The result includes empty partials.
func (r *records) recountSlots(ctx context.Context, s varve.Series, c *recount) (map[slot]*Partial, error) {
	for _, h := range spansOf(c.slots) {
		err := r.source.ScanCopies(ctx, s, h.window(), func(x store.Copy) error {
			if err := ctx.Err(); err != nil {
				return err
			}
			return c.add(x)
		})
		if err = cmp.Or(err, ctx.Err()); err != nil {
			return nil, fmt.Errorf("recount %s: %w", s, err)
		}
	}
	if err := c.finish(); err != nil {
		return nil, fmt.Errorf("recount %s: %w", s, err)
	}
	partials := make(map[slot]*Partial, len(c.aggregates))
	for at, a := range c.aggregates {
		partials[at] = a.partial()
	}
	return partials, nil
}

// comparison is the relation of a stored partial to the readings that count now.
type comparison uint8

const (
	upToDate  comparison = iota // the partial has the same readings
	outdated                    // the partial has the readings that arrived first
	uncertain                   // the partial has these, and the others may be copies of them
	different                   // the partial has other readings
)

// compareTo compares the readings that count now with a partial, which may be nil. A recount
// includes all stored readings of its slot, so readings that the partial lacks arrived later.
func (a *aggregate) compareTo(p *Partial) comparison {
	missing := p == nil
	list := *a.total.list
	if missing {
		p = &Partial{}
	} else if p.Readings < 0 || p.Readings > int64(len(list)) {
		return different
	}
	slices.SortStableFunc(list, func(a, b countedReading) int { return cmp.Compare(a.arrived, b.arrived) })
	digest := uint64(0)
	for _, o := range list[:p.Readings] {
		digest += o.digest
	}
	others := list[p.Readings:]
	switch {
	case digest != p.digest:
		return different
	case len(others) == 0 && missing && a.unclear > 0, slices.ContainsFunc(others, func(o countedReading) bool { return o.unclear }):
		return uncertain
	case len(others) == 0:
		return upToDate
	}
	return outdated
}

// outdatedSlots returns the slots whose partials lack readings, and the slots for which that
// is uncertain. It leaves out dirty slots, which are recounted anyway.
func outdatedSlots(now map[slot]*aggregate, partials partialSet, dirty map[slot]bool) (list, unknown []slot) {
	states, lost := map[slot]comparison{}, map[int64]int64{}
	for at, p := range partials {
		a := now[at]
		if a == nil {
			a = emptyAggregate()
		}
		if states[at] = a.compareTo(p); states[at] == different {
			lost[at.hour] = max(lost[at.hour], at.arrival)
		}
	}
	for at, a := range now {
		s, ok := states[at]
		if !ok {
			s = a.compareTo(nil)
		}
		_, gone := lost[at.hour]
		switch {
		case dirty[at] || s == upToDate || len(*a.total.list)+a.unclear == 0:
		case s == outdated && (!gone || lost[at.hour] < at.arrival):
			list = append(list, at)
		default:
			unknown = append(unknown, at)
		}
	}
	return list, unknown
}
