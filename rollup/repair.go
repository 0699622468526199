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

// Mended is the result of [Worker.Mend].
type Mended struct {
	Hours, Days int // partials that were written
	// Lost is the event times whose roll-ups may lack readings, in order.
	Lost []varve.Window
}

// Mend recounts the roll-ups of a series that lay in lost ranges of the registry.
// Nothing else may use the store meanwhile.
//
// An hour whose partial is lost is counted from the readings that are stored. A
// partial that exists is replaced only by one of the same readings and more: it
// may be all that is left of readings that are gone.
//
// Gone is the event times whose readings may be gone. Those in the gaps are lost,
// and so is each hour of which other partials have readings that are gone, and
// each day that has more readings than its hours.
func (w *Worker) Mend(ctx context.Context, s varve.Series, gaps []Gap, gone []varve.Window) (Mended, error) {
	m := mending{w: w, series: s}
	var days []int64
	for _, g := range gaps {
		for _, r := range g.days(s) {
			more, err := m.daysIn(ctx, r)
			if err != nil {
				return Mended{}, fmt.Errorf("recount %s: %w", s, err)
			}
			days = append(days, more...)
			in := span{r.from * dayHours, r.to * dayHours}.window()
			for _, x := range gone {
				if x.Overlaps(in) {
					m.lost(intersection(x, in))
				}
			}
		}
	}
	slices.Sort(days)
	for _, day := range slices.Compact(days) {
		if err := m.mendDay(ctx, day); err != nil {
			return m.Mended, fmt.Errorf("recount %s: %w", s, err)
		}
	}
	m.Lost = union(m.Lost)
	return m.Mended, nil
}

// mending recounts a series.
type mending struct {
	Mended
	w      *Worker
	series varve.Series
}

func (m *mending) lost(w varve.Window) { m.Lost = append(m.Lost, w) }

// daysIn returns the days of a range that have readings or partials.
func (m *mending) daysIn(ctx context.Context, r dayRange) (days []int64, err error) {
	last := int64(-1)
	add := func(day int64) {
		if day != last {
			days, last = append(days, day), day
		}
	}
	within := span{r.from * dayHours, r.to * dayHours}
	err = m.w.raw.Each(ctx, m.series, within.window(), func(x *varve.Reading, _ bool) { add(dayOf(x.Time.Unix())) })
	if err != nil {
		return nil, err
	}
	for _, q := range []store.ItemQuery{
		{From: dayFrom(r.from), To: dayFrom(r.to)}, {From: hourFrom(within.from), To: hourFrom(within.to)},
	} {
		q.PK, q.Consistent = pkOf(m.series), true
		err := m.w.each(ctx, q, func(it *store.Item) error {
			at, _, err := parseKey(it.SK)
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

// dayState is the stored roll-ups of a day.
type dayState struct {
	dirty    map[slot]bool
	partials rest // of hours; those that lack parts are left out
	days     rest
}

func (m *mending) read(ctx context.Context, day int64) (d dayState, err error) {
	h := span{day * dayHours, (day + 1) * dayHours}
	marks, err := m.w.marks(ctx, m.series, h)
	if err != nil {
		return d, err
	}
	d.dirty = slotsOf(marks, h)
	if d.partials, err = m.w.hours(ctx, m.series, h, nil); err != nil {
		return d, err
	}
	if d.days, err = m.w.dayPartials(ctx, m.series, day); err != nil {
		return d, err
	}
	torn := func(_ slot, p *Partial) bool { return p.whole() != nil }
	maps.DeleteFunc(d.partials, torn)
	maps.DeleteFunc(d.days, torn)
	return d, nil
}

// dayPartials returns the partials of a day.
func (r *records) dayPartials(ctx context.Context, s varve.Series, day int64) (rest, error) {
	found := rest{}
	q := store.ItemQuery{PK: pkOf(s), From: dayFrom(day), To: dayFrom(day + 1), Consistent: true}
	err := r.each(ctx, q, func(it *store.Item) error {
		at, part, err := parseKey(it.SK)
		if err != nil {
			return err
		}
		return found.take(it, at, part, nil)
	})
	return found, err
}

// mendDay writes the partials that a day lacks.
func (m *mending) mendDay(ctx context.Context, day int64) error {
	d, err := m.read(ctx, day)
	if err != nil {
		return err
	}
	lacking, err := m.lacking(ctx, day, &d)
	if err != nil {
		return err
	}
	unsettled := maps.Clone(d.dirty)
	maps.Copy(unsettled, lacking)
	counted, err := m.w.count(ctx, m.series, newRecount(m.w.resent, tally{kept: &sketch{}}, lacking, unsettled, d.partials))
	if err != nil {
		return err
	}
	maps.DeleteFunc(counted, func(_ slot, p *Partial) bool { return p.Readings == 0 && !p.again })
	var puts []store.Item
	for at, p := range counted {
		puts = append(puts, p.items(hourKey(m.series, at.hour, at.arrival), partBytes)...)
	}
	sums, err := m.sums(day, &d, counted)
	if err != nil {
		return err
	}
	for at, p := range sums {
		puts = append(puts, p.items(dayKey(m.series, day, at), partBytes)...)
	}
	m.Hours, m.Days = m.Hours+len(counted), m.Days+len(sums)
	return m.w.items.PutAll(ctx, puts)
}

// lacking returns the slots to count: those that are behind the readings, and
// those without a partial, of which it also says that they may lack readings.
func (m *mending) lacking(ctx context.Context, day int64, d *dayState) (map[slot]bool, error) {
	c := newRecount(m.w.resent, tally{only: noField, found: &found{}}, nil, d.dirty, d.partials)
	h := span{day * dayHours, (day + 1) * dayHours}
	if err := cmp.Or(m.w.raw.Each(ctx, m.series, h.window(), c.add), c.finish()); err != nil {
		return nil, err
	}
	behind, left := compare(c.counts, d.partials, d.dirty)
	slots := map[slot]bool{}
	for _, at := range behind {
		slots[at] = true
	}
	for _, at := range left {
		if d.partials[at] == nil {
			slots[at] = true
			m.lost(span{at.hour, at.hour + 1}.window())
		}
	}
	return slots, nil
}

// sums returns the partials of a day that are missing or smaller than their hours,
// by day of arrival. A larger one has readings of hours that are lost.
func (m *mending) sums(day int64, d *dayState, counted map[slot]*Partial) (map[int64]*Partial, error) {
	arrivals, busy := map[int64]bool{}, map[int64]bool{}
	for _, slots := range []map[slot]*Partial{d.partials, counted, d.days} {
		for at := range slots {
			arrivals[at.arrival] = true
		}
	}
	for at := range d.dirty {
		busy[at.arrival] = true
	}
	sums := map[int64]*Partial{}
	for arrival := range arrivals {
		own := maps.Clone(counted)
		maps.DeleteFunc(own, func(at slot, _ *Partial) bool { return at.arrival != arrival })
		sum, err := group{m.series, day, arrival}.sum(own, d.partials)
		if err != nil {
			return nil, err
		}
		is := d.days[slot{day, arrival}]
		switch {
		case is != nil && is.Readings > sum.Readings && !busy[arrival]:
			m.lost(span{day * dayHours, (day + 1) * dayHours}.window())
		case busy[arrival]: // its worker adds it up
		case is == nil && (sum.Readings > 0 || sum.again), is != nil && is.Readings < sum.Readings:
			sums[arrival] = sum
		}
	}
	return sums, nil
}

// intersection returns the overlap of two windows.
func intersection(a, b varve.Window) varve.Window {
	if b.From.After(a.From) {
		a.From = b.From
	}
	if b.To.Before(a.To) {
		a.To = b.To
	}
	return a
}

// union sorts windows and joins those that touch.
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
