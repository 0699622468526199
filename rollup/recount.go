package rollup

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
)

// recount computes the partials of slots from the copies of readings, which are added in order.
type recount struct {
	resent     Resent
	blank      tally                // an empty tally, from which the other tallies get their settings
	slots      map[slot]bool        // slots to compute; nil means all
	earlier    map[int64]partialSet // stored partials of each hour
	aggregates map[slot]*aggregate
	inTables   map[slot]*summary // summary of those readings of each stored partial that are still in tables
	err        error
}

// aggregate is the state of one slot of a recount.
type aggregate struct {
	total      *tally
	filter     *copyFilter // nil if the hour has no partial of an earlier arrival day
	copiesSeen bool        // copies of readings that count in other slots were found
	unclear    int         // number of unclear readings that do not count
}

func emptyAggregate() *aggregate { return &aggregate{total: &tally{list: &readingList{}}} }

// newRecount returns a recount of slots. It ignores the stored partials of dirty slots.
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

// add adds a copy. Copies must be added in the order of their positions.
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

// aggregate returns the aggregate of a slot, or nil if the slot is not part of the recount.
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

// finish ends the recount. It decides which of the readings in the filters count.
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

// hasAllEarlier reports whether all readings of the hour that were counted on earlier arrival days
// are still in tables. If so, no first copy in the slot is a copy of one of them.
func (c *recount) hasAllEarlier(at slot) bool {
	for o, p := range c.earlier[at.hour] {
		if o.arrival < at.arrival && *c.inTables[o] != (summary{p.Readings, p.digest}) {
			return false
		}
	}
	return true
}

// resolveCopies adds those readings of the filter that count.
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

// comparison is the result of comparing a stored partial with the readings that count now.
type comparison uint8

const (
	upToDate  comparison = iota // the partial has exactly these readings
	outdated                    // the partial lacks the readings that arrived last, and has all others
	uncertain                   // like outdated, but the other readings may be copies of readings that count already
	different                   // the partial has readings that do not count now
)

// compareTo compares the readings that count now with a partial, which may be nil. A recount
// includes all stored readings of its slot. So if the partial lacks readings, these arrived last.
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

// outdatedSlots returns the slots whose partials lack readings, and the slots whose partials may
// lack readings. It omits dirty slots, which are recounted anyway.
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
