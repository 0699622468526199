package rollup

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/block"
	"github.com/varvedb/varve/store"
)

// recount computes the partials of slots from the copies of readings, which are added in order.
type recount struct {
	resent     Resent
	blank      tally                // an empty tally, from which the other tallies get their settings
	slots      map[slot]bool        // slots to compute; nil means all slots with added readings
	earlier    map[int64]partialSet // stored partials of each hour
	aggregates map[slot]*aggregate
	inTables   map[slot]*summary // summary of those readings of each stored partial that are still in tables
	err        error
	forms      block.Forms
	scratch    varve.Reading

	corrections corrections
	replacing   replacingSlots
}

// aggregate is the state of one slot of a recount.
type aggregate struct {
	total      *tally
	filter     *copyFilter // finds copies of readings of earlier arrival days; nil if the hour has none
	copiesSeen bool        // whether copies of readings that count in other slots were found
	unclear    int         // number of readings that may be copies, and therefore do not count
	// picks are corrected readings that count, unless the filter decides otherwise.
	picks []*varve.Reading
}

func emptyAggregate() *aggregate { return &aggregate{total: &tally{list: &readingList{}}} }

// newRecount returns a recount of slots. It ignores the stored partial of a dirty slot, unless that
// partial replaces the partials of earlier arrival days.
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
		if dirty[at] && slots[at] && p.replaces {
			c.replacing.add(at, p)
		}
		if p.identity().readings == 0 || dirty[at] || slots != nil && !hours[at.hour] {
			continue
		}
		if c.earlier[at.hour] == nil {
			c.earlier[at.hour] = partialSet{}
		}
		c.earlier[at.hour][at], c.inTables[at] = p, &summary{}
	}
	return c
}

// Copy implements store.CopyScanner. Copies must be added in the order of their positions.
func (c *recount) Copy(x store.Copy) error {
	r := x.Reading
	at := slot{hourOf(r.Time.Unix()), dayOf(r.Arrived.Unix())}
	if len(c.inTables) > 0 && x.First {
		if n := c.inTables[at]; n != nil {
			n.add(summary{1, digestOf(r.Position())})
		}
	}
	if x.First {
		c.replacing.addReading(at, r, x.Versioned)
	}
	if x.Versioned {
		c.addVersion(x, at)
		return nil
	}
	c.endGroup()
	switch a := c.aggregate(at); {
	case a == nil && x.First:
		c.plainOf(at).add(r)
	case a == nil:
	case !x.First:
		a.copiesSeen = true
	case a.filter != nil:
		a.filter.add(r)
		c.plainOf(at).add(r)
	default:
		a.total.add(r)
	}
	return nil
}

// Columns implements store.CopyScanner. It adds consecutive readings of the same slot in one step.
func (c *recount) Columns(p *block.Part) error {
	c.endGroup()
	c.forms.Reset(p.Block)
	slotOf := func(i int) slot { return slot{hourOf(p.Times[i] / int64(time.Second)), dayOf(p.Arrived[i] / 1000)} }
	for from := p.From; from < p.To; {
		at, to := slotOf(from), from+1
		for to < p.To && p.Times[to] < (at.hour+1)*int64(time.Hour) && (p.Arrived[to] == p.Arrived[from] || slotOf(to) == at) {
			to++
		}
		c.addRun(at, &block.Part{Block: p.Block, From: from, To: to})
		from = to
	}
	return nil
}

// addRun adds consecutive readings of one slot. Each of them is the only copy of its reading.
func (c *recount) addRun(at slot, run *block.Part) {
	a := c.aggregate(at)
	if c.replacing.has(at) {
		for k := range run.Len() {
			run.Fill(run.Row(k), &c.scratch)
			c.replacing.addReading(at, &c.scratch, false)
		}
	}
	if n := c.inTables[at]; n != nil {
		for k, id := range c.forms.IDs(run, 0, run.Len()) {
			n.add(summary{1, digestOf(varve.Position{Time: run.Times[run.Row(k)], ID: id})})
		}
	}
	switch {
	case a == nil:
		c.plainOf(at).addColumns(run, &c.forms)
	case a.filter != nil:
		c.plainOf(at).addColumns(run, &c.forms)
		for k := range run.Len() {
			run.Fill(run.Row(k), &c.scratch)
			a.filter.add(&c.scratch)
		}
	default:
		a.total.addColumns(run, &c.forms)
	}
}

// aggregate returns the aggregate of a slot, or nil if the slot is not part of the recount.
func (c *recount) aggregate(at slot) *aggregate {
	a, ok := c.aggregates[at]
	if ok || c.slots != nil && !c.slots[at] {
		return a
	}
	a = &aggregate{total: c.blank.newEmpty(), filter: c.newFilter(at)}
	c.aggregates[at] = a
	return a
}

// newFilter returns a filter of copies of readings that count on earlier arrival days, or nil if the
// hour has none.
func (c *recount) newFilter(at slot) *copyFilter {
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
	if !found {
		return nil
	}
	return newCopyFilter(readings, c.blank)
}

// finish ends the recount, after all copies were added. It decides which possible copies of earlier
// readings count, and which versions of corrected readings.
func (c *recount) finish(ctx context.Context) error {
	c.endGroup()
	for at := range c.slots {
		c.aggregate(at)
	}
	for at, a := range c.aggregates {
		if a.filter != nil {
			a.resolveCopies(c.hasAllEarlier(at), c.resent)
		}
	}
	if err := c.applyCorrections(ctx); err != nil {
		return err
	}
	c.extendReplacing()
	return c.err
}

// hasAllEarlier reports whether all readings of the hour that were counted on earlier arrival days
// are still in tables. If so, no first copy in the slot is a copy of one of them.
func (c *recount) hasAllEarlier(at slot) bool {
	for o, p := range c.earlier[at.hour] {
		if o.arrival < at.arrival && *c.inTables[o] != p.identity() {
			return false
		}
	}
	return true
}

// resolveCopies sets the total of the aggregate to the readings of its filter that count. If
// hasAllEarlier is true, all of them count. Otherwise, known copies do not count, and unclear readings
// count only with CountResent.
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

func (a *aggregate) partial() *Partial {
	p := a.total.result()
	p.copiesSeen = a.copiesSeen
	return p
}

type untilDone struct {
	ctx  context.Context
	scan store.CopyScanner
}

func (u untilDone) Copy(x store.Copy) error { return cmp.Or(u.ctx.Err(), u.scan.Copy(x)) }

func (u untilDone) Columns(p *block.Part) error { return cmp.Or(u.ctx.Err(), u.scan.Columns(p)) }

// recountSlots computes the slots of a recount. It includes partials without readings in its
// result.
func (r *records) recountSlots(ctx context.Context, s varve.Series, c *recount) (map[slot]*Partial, error) {
	if err := r.scanSlots(ctx, s, c.slots, c); err != nil {
		return nil, err
	}
	if err := c.finish(ctx); err != nil {
		return nil, fmt.Errorf("recount %s: %w", s, err)
	}
	return c.partials(), nil
}

// scanSlots passes all copies of readings in the hours of the slots to a scanner.
func (r *records) scanSlots(ctx context.Context, s varve.Series, slots map[slot]bool, scan store.CopyScanner) error {
	return r.scanSpans(ctx, s, spansOf(slots), scan)
}

func (r *records) scanSpans(ctx context.Context, s varve.Series, spans []span, scan store.CopyScanner) error {
	for _, h := range spans {
		err := r.source.ScanCopies(ctx, s, h.window(), untilDone{ctx, scan})
		if err = cmp.Or(err, ctx.Err()); err != nil {
			return fmt.Errorf("recount %s: %w", s, err)
		}
	}
	return nil
}

// partials returns the partials of a finished recount, including partials without readings.
func (c *recount) partials() map[slot]*Partial {
	partials := make(map[slot]*Partial, len(c.aggregates))
	for at, a := range c.aggregates {
		partials[at] = a.partial()
	}
	return partials
}

// comparison is the result of comparing a stored partial with the readings that count now.
type comparison uint8

const (
	upToDate  comparison = iota // the partial has exactly the readings that count now
	outdated                    // the partial lacks the readings that arrived last, and has all others
	uncertain                   // like "outdated", but the missing readings may be copies of counted ones
	different                   // the partial has readings that do not count now
)

// compareTo compares the readings that count now with a partial, which may be nil. A recount
// includes all stored readings of its slot. So if the partial lacks readings, these arrived last.
func (a *aggregate) compareTo(p *Partial) comparison {
	missing := p == nil
	list := *a.total.list
	if missing {
		p = &Partial{}
	}
	n := p.identity().readings
	if n < 0 || n > int64(len(list)) {
		return different
	}
	slices.SortStableFunc(list, func(a, b countedReading) int { return cmp.Compare(a.arrived, b.arrived) })
	digest := uint64(0)
	for _, o := range list[:n] {
		digest += o.digest
	}
	others := list[n:]
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
