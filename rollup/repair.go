package rollup

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
)

// Repaired is the result of [Aggregator.Repair].
type Repaired struct {
	Hours, Days int // numbers of written partials of hours and of days
	// Lost has the event times whose roll-ups may lack readings, in order.
	Lost []varve.Window
}

// Repair recounts the roll-ups of a series that were in lost ranges of the registry. No other
// process may use the store at the same time.
//
// A lost partial of an hour is recounted from the stored readings. An existing partial is
// replaced only by a partial that includes all of its readings, because some of them may no
// longer be stored.
//
// The parameter "gone" has the event times whose readings may no longer be stored. If such a time is
// on a day of lost keys, it is added to Repaired.Lost. An hour is also lost if one of its partials is
// missing and another has readings that are no longer stored. A day is also lost if its partial has
// more readings than the partials of its hours.
func (g *Aggregator) Repair(ctx context.Context, s varve.Series, lost []LostKeys, gone []varve.Window) (Repaired, error) {
	r := repairer{g: g, series: s}
	var days []int64
	for _, keys := range lost {
		for _, in := range keys.days(s) {
			found, err := r.daysIn(ctx, in.span())
			if err != nil {
				return Repaired{}, fmt.Errorf("recount %s: %w", s, err)
			}
			days = append(days, found...)
			window := in.span().window()
			for _, x := range gone {
				if x.Overlaps(window) {
					r.addLost(intersection(x, window))
				}
			}
		}
	}
	slices.Sort(days)
	for _, day := range slices.Compact(days) {
		if err := r.repairDay(ctx, day); err != nil {
			return r.Repaired, fmt.Errorf("recount %s: %w", s, err)
		}
	}
	r.Lost = union(r.Lost)
	return r.Repaired, nil
}

type repairer struct {
	Repaired
	g      *Aggregator
	series varve.Series
}

func (r *repairer) addLost(w varve.Window) { r.Lost = append(r.Lost, w) }

// daysIn returns the days in a span that have readings or partials.
func (r *repairer) daysIn(ctx context.Context, within span) (days []int64, err error) {
	last := int64(-1)
	add := func(day int64) {
		if day != last {
			days, last = append(days, day), day
		}
	}
	err = r.g.source.ScanCopies(ctx, r.series, within.window(), store.CopyFunc(func(x store.Copy) error {
		add(dayOf(x.Reading.Time.Unix()))
		return nil
	}))
	if err != nil {
		return nil, err
	}
	for _, q := range []store.ItemQuery{
		{From: dayKeyFrom(within.from / dayHours), To: dayKeyFrom(within.to / dayHours)}, {From: hourKeyFrom(within.from), To: hourKeyFrom(within.to)},
	} {
		q.PK, q.Consistent = partitionOf(r.series), true
		err := r.g.scanItems(ctx, q, func(it *store.Item) error {
			at, _, err := parsePartialKey(it.SK)
			if q.From[0] == 'H' {
				at.hour /= dayHours
			}
			add(at.hour)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return days, nil
}

// dayState is the stored state of one day, without incomplete partials.
type dayState struct {
	dirty    map[slot]bool
	partials partialSet // partials of the hours of the day
	days     partialSet // partials of the whole day, one for each arrival day
}

func (r *repairer) readDay(ctx context.Context, day int64) (d dayState, err error) {
	markers, err := r.g.markers(ctx, r.series, daySpan(day))
	if err != nil {
		return d, err
	}
	d.dirty = dirtySlots(markers, daySpan(day))
	if d.partials, err = r.g.hourPartials(ctx, r.series, daySpan(day), nil); err != nil {
		return d, err
	}
	if d.days, err = r.g.dayPartials(ctx, r.series, day); err != nil {
		return d, err
	}
	incomplete := func(_ slot, p *Partial) bool { return p.checkComplete() != nil }
	maps.DeleteFunc(d.partials, incomplete)
	maps.DeleteFunc(d.days, incomplete)
	return d, nil
}

// repairDay writes the missing and outdated partials of a day.
func (r *repairer) repairDay(ctx context.Context, day int64) error {
	d, err := r.readDay(ctx, day)
	if err != nil {
		return err
	}
	slots, err := r.slotsToRecount(ctx, day, &d)
	if err != nil {
		return err
	}
	ignored := maps.Clone(d.dirty)
	maps.Copy(ignored, slots)
	recounted, err := r.g.recountSlots(ctx, r.series, newRecount(r.g.resent, tally{sketch: &sketch{}}, slots, ignored, d.partials))
	if err != nil {
		return err
	}
	maps.DeleteFunc(recounted, func(_ slot, p *Partial) bool { return p.isEmpty() })
	var puts []store.Item
	for at, p := range recounted {
		puts = append(puts, p.items(hourKey(r.series, at.hour, at.arrival), maxPartBytes)...)
	}
	sums, err := r.daySums(day, &d, recounted)
	if err != nil {
		return err
	}
	for at, p := range sums {
		puts = append(puts, p.items(dayKey(r.series, day, at), maxPartBytes)...)
	}
	r.Hours, r.Days = r.Hours+len(recounted), r.Days+len(sums)
	return r.g.items.PutAll(ctx, puts)
}

// slotsToRecount returns the slots whose partials are missing or outdated. If a slot has no
// partial and its readings are uncertain, its hour is added to Lost.
func (r *repairer) slotsToRecount(ctx context.Context, day int64, d *dayState) (map[slot]bool, error) {
	c := newRecount(r.g.resent, tally{only: noFields, list: &readingList{}}, nil, d.dirty, d.partials)
	if err := cmp.Or(r.g.source.ScanCopies(ctx, r.series, daySpan(day).window(), c), c.finish(ctx)); err != nil {
		return nil, err
	}
	lacking, unknown := outdatedSlots(c.aggregates, d.partials, d.dirty)
	slots := map[slot]bool{}
	for _, at := range lacking {
		slots[at] = true
	}
	for _, at := range unknown {
		if d.partials[at] == nil {
			slots[at] = true
			r.addLost(span{at.hour, at.hour + 1}.window())
		}
	}
	return slots, nil
}

// daySums returns the partials of a day that must be written, by arrival day. A partial must be
// written if it is missing, or has fewer readings than its hours together. If it has more readings
// than its hours, the day is added to Lost.
func (r *repairer) daySums(day int64, d *dayState, recounted map[slot]*Partial) (map[int64]*Partial, error) {
	arrivals, dirty := map[int64]bool{}, map[int64]bool{}
	for _, slots := range []map[slot]*Partial{d.partials, recounted, d.days} {
		for at := range slots {
			arrivals[at.arrival] = true
		}
	}
	for at := range d.dirty {
		dirty[at.arrival] = true
	}
	sums := map[int64]*Partial{}
	for arrival := range arrivals {
		own := maps.Clone(recounted)
		maps.DeleteFunc(own, func(at slot, _ *Partial) bool { return at.arrival != arrival })
		sum, err := group{r.series, day, arrival}.sum(own, d.partials)
		if err != nil {
			return nil, err
		}
		stored := d.days[slot{day, arrival}]
		switch {
		case stored != nil && stored.Readings > sum.Readings && !dirty[arrival]:
			r.addLost(daySpan(day).window())
		case dirty[arrival]: // the aggregator will add up the day
		case stored == nil && !sum.isEmpty(), stored != nil && stored.Readings < sum.Readings:
			sums[arrival] = sum
		}
	}
	return sums, nil
}

func intersection(a, b varve.Window) varve.Window {
	if b.From.After(a.From) {
		a.From = b.From
	}
	if b.To.Before(a.To) {
		a.To = b.To
	}
	return a
}

// union sorts windows, and joins windows that overlap or touch.
func union(list []varve.Window) (joined []varve.Window) {
	slices.SortFunc(list, func(a, b varve.Window) int { return a.From.Compare(b.From) })
	for _, w := range list {
		if n := len(joined); n > 0 && !w.From.After(joined[n-1].To) {
			if w.To.After(joined[n-1].To) {
				joined[n-1].To = w.To
			}
			continue
		}
		joined = append(joined, w)
	}
	return joined
}
