package rollup

import (
	"context"
	"slices"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
)

// addVersion adds a copy of a reading that has versions.
func (c *recount) addVersion(x store.Copy, at slot) {
	if !x.First {
		if a := c.aggregate(at); a != nil {
			a.copiesSeen = true
		}
		return
	}
	if open := c.corrections.open; len(open) > 0 && !open[0].reading.Position().IsVersionOf(x.Reading.Position()) {
		c.endGroup()
	}
	c.corrections.open = append(c.corrections.open, groupMember{reading: x.Reading.Clone(), arrival: at.arrival})
	c.aggregate(at)
}

// endGroup completes the group of the versions of the current reading.
func (c *recount) endGroup() {
	g := c.corrections.open
	if len(g) == 0 {
		return
	}
	c.corrections.open = nil
	hour := hourOf(g[0].reading.Time.Unix())
	if c.corrections.groups == nil {
		c.corrections.groups, c.corrections.superseding, c.corrections.versioned = map[int64][]readingGroup{}, map[slot]bool{}, map[slot]bool{}
	}
	c.corrections.groups[hour] = append(c.corrections.groups[hour], g)
	for i := range g {
		at := slot{hour, g[i].arrival}
		c.corrections.versioned[at] = true
		own := g.newestOf(at.arrival)
		if own != &g[i].reading || own != g.newest(at.arrival) {
			continue // a higher version arrived by the end of this day
		}
		a := c.aggregates[at]
		switch {
		case a == nil:
		case g.newest(at.arrival-1) != nil:
			c.corrections.superseding[at] = true
		default:
			if a.filter != nil {
				a.filter.add(own)
			}
			a.picks, g[i].isPick = append(a.picks, own), true
		}
	}
}

// plainOf returns the tally of a slot in corrections.plain. It adds an empty tally if the slot has
// none.
func (c *recount) plainOf(at slot) *tally {
	t := c.corrections.plain[at]
	if t == nil {
		if c.corrections.plain == nil {
			c.corrections.plain = map[slot]*tally{}
		}
		t = &tally{only: c.blank.only}
		c.corrections.plain[at] = t
	}
	return t
}

// applyCorrections adds the corrected readings to the slots of their hours. It fails when ctx ends.
func (c *recount) applyCorrections(ctx context.Context) error {
	if len(c.corrections.groups) == 0 {
		return nil
	}
	slots, plain := slotsByHour(c.aggregates), slotsByHour(c.corrections.plain)
	for hour, groups := range c.corrections.groups {
		whole := map[slot]*tally{}
		for _, at := range slots[hour] {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if c.corrections.superseding[at] && c.hasAllEarlier(at) {
				whole[at] = c.wholeHour(at, slots[hour], plain[hour], groups)
			}
		}
		for _, at := range slots[hour] {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			a := c.aggregates[at]
			a.finishCorrections(at, groups, whole[at])
			a.total.sum.uncorrected = c.lacksCorrected(at)
		}
	}
	return nil
}

// lacksCorrected reports whether a slot has corrections although readings of earlier arrival days
// are no longer all in tables. In that case, corrections of these readings do not count.
func (c *recount) lacksCorrected(at slot) bool {
	return c.corrections.versioned[at] && !c.hasAllEarlier(at)
}

// wholeHour counts all readings of the slot's hour that arrived by its arrival day, in their newest
// versions. The other arguments are the aggregates, the plain tallies and the groups of the hour.
func (c *recount) wholeHour(at slot, slots, plain []slot, groups []readingGroup) *tally {
	total := &tally{only: c.blank.only}
	for _, o := range plain {
		if o.arrival <= at.arrival {
			total.merge(&c.corrections.plain[o].sum)
		}
	}
	for _, o := range slots {
		if a := c.aggregates[o]; o.arrival <= at.arrival && a.filter == nil {
			total.merge(&a.total.sum) // a.total has no corrected readings yet; finishCorrections adds them
		}
	}
	for _, g := range groups {
		if r := g.newest(at.arrival); r != nil {
			total.add(r)
		}
	}
	return total
}

// finishCorrections adds the corrected readings of a slot. If "whole" is not nil, it has the values
// of the whole hour, which replace the values of the slot.
func (a *aggregate) finishCorrections(at slot, groups []readingGroup, whole *tally) {
	t := a.total
	if a.filter == nil {
		for _, r := range a.picks {
			t.add(r)
		}
	}
	identified := t.sum.Readings
	for _, g := range groups {
		for i := range g {
			if g[i].arrival == at.arrival && !g[i].isPick {
				t.identify(identified, &g[i].reading)
				identified++
			}
		}
		if p := g[0].reading.Position(); t.sketch != nil && p.ID.Version() > 0 && g.newestOf(at.arrival) != nil {
			// The sketch includes the original, too. By the original, a recount recognizes other
			// versions that arrive after the table of the reading was dropped.
			p.ID = p.ID.WithVersion(0)
			t.sketch.add(entryOf(p))
		}
	}
	if whole != nil {
		t.sum.Fields, t.index, t.sum.Readings, t.sum.replaces = whole.sum.Fields, whole.index, whole.sum.Readings, true
	}
	if t.sum.Readings != identified {
		t.sum.identified = identified
	}
	// If no reading counts in the slot, set copiesSeen, so that its partial is stored nevertheless.
	// An earlier partial of the slot may have counted readings, and must be replaced.
	a.copiesSeen = a.copiesSeen || t.sum.Readings == 0 && identified > 0
}

// extendReplacing extends the stored partials of slots that cannot be recomputed; see replacingSlots.
func (c *recount) extendReplacing() {
	for at, o := range c.replacing {
		if c.hasAllEarlier(at) {
			continue
		}
		if since, ok := o.arrivedSince(); ok {
			c.aggregates[at] = c.extend(at, o, since)
		}
	}
}

// extend returns the aggregate of a stored partial and the readings that arrived since.
func (c *recount) extend(at slot, o *replacingSlot, since []arrivedReading) *aggregate {
	a := &aggregate{total: c.blank.newEmpty(), filter: c.newFilter(at), copiesSeen: c.aggregates[at].copiesSeen}
	slices.SortFunc(since, func(a, b arrivedReading) int { return a.reading.Position().Compare(b.reading.Position()) })
	corrections := o.partial.uncorrected
	for i := range since {
		switch r := &since[i]; {
		case r.corrected:
			corrections = true
		case a.filter != nil:
			a.filter.add(&r.reading)
		default:
			a.total.add(&r.reading)
		}
	}
	if a.filter != nil {
		a.resolveCopies(false, c.resent)
	}
	t := a.total
	added := t.sum.Readings
	values := &tally{only: t.only}
	values.merge(o.partial)
	values.merge(&t.sum)
	identified := added
	for i := range o.readings[:len(o.readings)-len(since)] {
		t.identify(identified, &o.readings[i].reading)
		identified++
		t.sketchOriginal(&o.readings[i])
	}
	for i := range since {
		if since[i].corrected {
			t.identify(identified, &since[i].reading)
			identified++
			t.sketchOriginal(&since[i])
		}
	}
	t.sum.Fields, t.index, t.sum.Readings, t.sum.replaces = values.sum.Fields, values.index, values.sum.Readings, true
	t.sum.uncorrected = corrections
	if t.sum.identified = 0; t.sum.Readings != identified {
		t.sum.identified = identified
	}
	return a
}

// identify adds a reading to the arrivals, the digest, the sketch and the list, but not to the
// count and the fields. The parameter "identified" is the number of readings in the digest so far.
func (t *tally) identify(identified int64, r *varve.Reading) {
	t.sum.arrived.add(identified, r.Arrived.UnixMilli())
	e := entryOf(r.Position())
	t.sum.digest += e.digest
	if t.sketch != nil {
		t.sketch.add(e)
	}
	if t.list != nil {
		t.list.add(r.Arrived.UnixNano(), e.digest)
	}
}

// identity returns the number and the digest of the readings that first arrived in the slot of a
// partial. These readings differ from the counted ones only in hours with corrections.
func (p *Partial) identity() summary {
	if p.identified > 0 {
		return summary{p.identified, p.digest}
	}
	return summary{p.Readings, p.digest}
}
