package rollup

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/varvedb/varve"
)

// recount counts slots of a series from its readings. A reading counts in the slot
// of its first copy that is in a table, unless a partial of an earlier day has it.
type recount struct {
	resent Resent
	blank  tally          // what tallies begin as
	slots  map[slot]bool  // what is counted; nil: all
	before map[int64]rest // partials at rest, by hour
	counts map[slot]*aggregate
	there  map[slot]*summary // of partials at rest, how much of them is in tables
	err    error
}

// aggregate is one slot that is counted.
type aggregate struct {
	total   *tally
	sieve   *sieve // nil if no earlier day has a partial at rest
	again   bool   // there are copies of readings that count elsewhere
	unclear int    // readings that may be copies, and are ignored
}

// newRecount prepares to count slots. Partials of dirty slots are not at rest.
func newRecount(resent Resent, blank tally, slots, dirty map[slot]bool, partials rest) *recount {
	c := &recount{
		resent: resent, blank: blank, slots: slots, before: map[int64]rest{},
		counts: make(map[slot]*aggregate, len(slots)), there: map[slot]*summary{},
	}
	hours := map[int64]bool{}
	for at := range slots {
		hours[at.hour] = true
	}
	for at, p := range partials {
		if p.Readings == 0 || dirty[at] || slots != nil && !hours[at.hour] {
			continue
		}
		if c.before[at.hour] == nil {
			c.before[at.hour] = rest{}
		}
		c.before[at.hour][at], c.there[at] = p, &summary{}
	}
	return c
}

// add takes the next copy, in the order of time; first as in Raw.
func (c *recount) add(r *varve.Reading, first bool) {
	at := slot{hourOf(r.Time.Unix()), dayOf(r.Arrived.Unix())}
	if len(c.there) > 0 && first {
		if n := c.there[at]; n != nil {
			n.add(summary{1, digestOf(r.Position())})
		}
	}
	switch a := c.aggregate(at); {
	case a == nil:
	case !first:
		a.again = true
	case a.sieve != nil:
		a.sieve.add(r)
	default:
		a.total.add(r)
	}
}

// aggregate returns a slot's aggregate; nil if the slot is not counted.
func (c *recount) aggregate(at slot) *aggregate {
	a, ok := c.counts[at]
	if ok || c.slots != nil && !c.slots[at] {
		return a
	}
	a = &aggregate{total: c.blank.fresh()}
	c.counts[at] = a
	if c.before[at.hour] == nil {
		return a
	}
	s := seen{prints: map[uint32]bool{}, minutes: map[int][]summary{}}
	some := false
	for o, p := range c.before[at.hour] {
		if o.arrival < at.arrival {
			some = true
			if err := s.add(p); err != nil {
				c.err = cmp.Or(c.err, fmt.Errorf("partial of %s: %w", o, err))
			}
		}
	}
	if some {
		a.sieve = newSieve(s, c.blank)
	}
	return a
}

// finish ends counting: what sieves hold back is decided.
func (c *recount) finish() error {
	for at := range c.slots {
		c.aggregate(at)
	}
	for at, a := range c.counts {
		if a.sieve != nil {
			a.decide(c.complete(at), c.resent)
		}
	}
	return c.err
}

// complete reports whether all readings of earlier partials are in tables. Then
// none of what came later first is among them.
func (c *recount) complete(at slot) bool {
	for o, p := range c.before[at.hour] {
		if o.arrival < at.arrival && *c.there[o] != (summary{p.Readings, p.digest}) {
			return false
		}
	}
	return true
}

func (a *aggregate) decide(complete bool, resent Resent) {
	s := a.sieve
	a.total = s.end()
	unclear := s.unclear.sum.Readings
	switch {
	case complete:
		a.total.absorb(s.known)
		a.total.absorb(s.unclear)
		return
	case resent == CountResent:
		s.unclear.found.doubt()
		a.total.absorb(s.unclear)
	default:
		a.unclear = int(unclear)
		a.again = a.again || unclear > 0
	}
	a.again = a.again || s.known.sum.Readings > 0
}

// partial returns what the slot adds up to.
func (a *aggregate) partial() *Partial {
	p := a.total.result()
	p.again = a.again
	return p
}

// count counts slots, of which the dirty ones' partials are not at rest. Slots
// without readings are among the result, empty.
func (r *records) count(ctx context.Context, s varve.Series, c *recount) (map[slot]*Partial, error) {
	for _, h := range spans(c.slots) {
		err := r.raw.Each(ctx, s, h.window(), func(x *varve.Reading, first bool) {
			if ctx.Err() == nil { // else nobody waits for the rest
				c.add(x, first)
			}
		})
		if err = cmp.Or(err, ctx.Err()); err != nil {
			return nil, fmt.Errorf("count %s: %w", s, err)
		}
	}
	if err := c.finish(); err != nil {
		return nil, fmt.Errorf("count %s: %w", s, err)
	}
	counted := make(map[slot]*Partial, len(c.counts))
	for at, a := range c.counts {
		counted[at] = a.partial()
	}
	return counted, nil
}

// found is the readings of a slot that count now.
type found struct{ list []one }

type one struct {
	arrived int64 // unix nanoseconds
	digest  uint64
	unclear bool // it may be a copy of a reading that was counted before
}

func (f *found) add(r *varve.Reading, digest uint64) {
	f.list = append(f.list, one{arrived: r.Arrived.UnixNano(), digest: digest})
}

// doubt says of all of them that they are unclear.
func (f *found) doubt() {
	if f == nil {
		return
	}
	for i := range f.list {
		f.list[i].unclear = true
	}
}

// state is how a slot's partial stands to what counts now.
type state uint8

const (
	same   state = iota // it is of the same readings
	behind              // of those that arrived first
	unsure              // the same; but the others may be copies of what it has
	other               // of others
)

// against compares what counts now with a partial; nil: there is none. Whoever
// counts a slot counts all of it that is there, so what a partial is of arrived
// before what it lacks.
func (a *aggregate) against(p *Partial) state {
	none := p == nil
	list := a.total.found.list
	if none {
		p = &Partial{}
	} else if p.Readings < 0 || p.Readings > int64(len(list)) {
		return other
	}
	slices.SortStableFunc(list, func(a, b one) int { return cmp.Compare(a.arrived, b.arrived) })
	digest := uint64(0)
	for _, o := range list[:p.Readings] {
		digest += o.digest
	}
	rest := list[p.Readings:]
	switch {
	case digest != p.digest:
		return other
	case len(rest) == 0 && none && a.unclear > 0, slices.ContainsFunc(rest, func(o one) bool { return o.unclear }):
		return unsure
	case len(rest) == 0:
		return same
	}
	return behind
}

// compare returns the slots that are behind the readings, and those that may be,
// where this cannot be told. Dirty ones are counted anyway.
func compare(now map[slot]*aggregate, partials rest, dirty map[slot]bool) (list, left []slot) {
	states, lost := map[slot]state{}, map[int64]int64{}
	for at, p := range partials {
		a := now[at]
		if a == nil {
			a = &aggregate{total: &tally{found: &found{}}}
		}
		if states[at] = a.against(p); states[at] == other {
			lost[at.hour] = max(lost[at.hour], at.arrival)
		}
	}
	for at, a := range now {
		s, ok := states[at]
		if !ok {
			s = a.against(nil)
		}
		_, gone := lost[at.hour]
		switch {
		case dirty[at] || s == same || len(a.total.found.list)+a.unclear == 0:
		case s == behind && (!gone || lost[at.hour] < at.arrival):
			list = append(list, at)
		default:
			left = append(left, at)
		}
	}
	return list, left
}
