package rollup

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/store"
)

// FindPartials returns the number of stored partials of hours that ErasePartials would remove. The
// partial of a day counts only if none of its hours in the window has a partial of the same arrival
// day.
func (g *Aggregator) FindPartials(ctx context.Context, s varve.Series, w varve.Window, arrived time.Time) (n int, err error) {
	days, err := g.storedDays(ctx, s, hoursIn(w, arrived), cutOf(arrived))
	for _, d := range days {
		n += len(d.hours)
	}
	return n, err
}

// ErasePartials removes the partials of the hours in a window, and the partials of the days that include
// these hours. It returns the number that FindPartials would return. The hours become dirty, so they are
// recounted from the readings that are still stored. The window begins and ends at whole hours.
//
// It is called after the readings of the window that arrived by a time were erased. A partial stays if
// all its readings arrived later, because they may no longer be stored. But it is removed if it replaces
// other partials, because it may have values of erased readings.
//
// The partials of hours contain only readings of the window, so the recount may leave out readings that
// are no longer stored. No aggregator runs at the same time, because ErasePartials holds the lease of
// Run. It fails with lease.ErrHeld while another process holds that lease.
func (g *Aggregator) ErasePartials(ctx context.Context, s varve.Series, w varve.Window, arrived time.Time) (erased int, err error) {
	l, err := g.lease.Acquire(ctx, "rollups")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, l.Release(context.WithoutCancel(ctx))) }()
	days, err := g.storedDays(ctx, s, hoursIn(w, arrived), cutOf(arrived))
	if err != nil {
		return 0, err
	}
	for _, day := range slices.Sorted(maps.Keys(days)) {
		if err := l.Check(ctx); err != nil {
			return erased, err
		}
		page, cancel := context.WithTimeout(ctx, pageTimeout)
		err := g.eraseDay(page, s, days[day])
		cancel()
		if err != nil {
			return erased, fmt.Errorf("erase roll-ups of %s: %w", s, err)
		}
		erased += len(days[day].hours)
	}
	return erased, nil
}

// hoursIn returns the hours of a window, limited to the event times of readings that arrived by a
// time.
func hoursIn(w varve.Window, arrived time.Time) span {
	all := varve.AllTime()
	if w.From.Before(all.From) {
		w.From = all.From
	}
	if last := arrived.Add(grid.MaxFuture + 1); w.To.After(last) {
		w.To = last
	}
	if w.To.After(all.To) {
		w.To = all.To
	}
	from, to := hourOf(w.From.Unix()), hourOf(w.To.Add(time.Hour-1).Unix())
	return span{from, max(from, to)}
}

// storedDay has the partials of one day that must be erased, and the partials of hours that stay.
type storedDay struct {
	hours map[slot]bool  // slots whose partials are erased
	later map[slot]later // slots whose partials stay
	keys  []store.Key    // items of erased partials of hours
	days  []store.Key    // items of erased partials of days
}

// later describes a partial of readings that arrived after the erased ones.
type later struct {
	readings    int64 // number of readings that first arrived in the slot
	isCorrected bool  // whether the counted readings differ from these, because of corrections
}

// hasLaterOnly reports whether a stored partial has only readings that the cut excludes. The values of
// a replacing partial may include other readings.
func (c cut) hasLaterOnly(at slot, p *Partial) bool {
	return !p.replaces && (c.excludes(at) || at.arrival == c.day && p.arrived.first >= c.at)
}

// storedDays returns the partials of the hours of a span, and the partials of the days with these hours, by
// day. The erasure covers only readings that arrived before the cut.
func (g *Aggregator) storedDays(ctx context.Context, s varve.Series, within span, cut cut) (map[int64]*storedDay, error) {
	days := map[int64]*storedDay{}
	dayAt := func(n int64) *storedDay {
		if days[n] == nil {
			days[n] = &storedDay{hours: map[slot]bool{}, later: map[slot]later{}}
		}
		return days[n]
	}
	q := store.ItemQuery{PK: partitionOf(s), From: hourKeyFrom(within.from), To: hourKeyFrom(within.to), Consistent: true}
	err := g.scanItems(ctx, q, func(it *store.Item) error {
		at, part, err := parsePartialKey(it.SK)
		if err != nil {
			return err
		}
		d := dayAt(at.hour / dayHours)
		if part == 0 && at.arrival >= cut.day {
			p, err := parsePartial(it, noFields)
			if err != nil {
				return err
			}
			if cut.hasLaterOnly(at, p) {
				d.later[at] = later{p.identity().readings, p.identified > 0}
			}
		}
		if _, stays := d.later[at]; !stays {
			d.hours[at], d.keys = true, append(d.keys, it.Key)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("roll-ups of %s: %w", s, err)
	}
	q.From, q.To = dayKeyFrom(within.from/dayHours), dayKeyFrom((within.to+dayHours-1)/dayHours)
	err = g.scanItems(ctx, q, func(it *store.Item) error {
		at, _, err := parsePartialKey(it.SK)
		if err == nil {
			dayAt(at.hour).addDay(at, within, it.Key)
		}
		return err
	})
	return days, err
}

// addDay adds an item of the partial of the day, unless all its hours in the span stay.
func (d *storedDay) addDay(at slot, within span, k store.Key) {
	sameArrival := func(o slot) bool { return o.arrival == at.arrival }
	if !slices.ContainsFunc(slices.Collect(maps.Keys(d.hours)), sameArrival) {
		if slices.ContainsFunc(slices.Collect(maps.Keys(d.later)), sameArrival) {
			return
		}
		// The arrival day has no partials of hours in the span. Mark the first of these hours as dirty, so
		// that the day is added up once more.
		d.hours[slot{hour: max(at.hour*dayHours, within.from), arrival: at.arrival}] = true
	}
	d.days = append(d.days, k)
}

// eraseDay puts markers for the slots, and then deletes the partials. Until the aggregator has
// processed the markers, readers recount the hours. Partials of days are deleted first: if this call
// is interrupted, the next one finds the day by its hours.
func (g *Aggregator) eraseDay(ctx context.Context, s varve.Series, d *storedDay) error {
	outdated, err := g.outdatedLater(ctx, s, d)
	if err != nil {
		return err
	}
	until := lateMarkerEnd(g.now().Unix())
	markers := make([]store.Item, 0, len(d.hours)+len(outdated))
	for _, at := range slices.AppendSeq(outdated, maps.Keys(d.hours)) {
		markers = append(markers, dirtyMarker{from: at.hour, hours: 1, arrival: at.arrival, until: until}.item(s))
	}
	if err := g.items.PutAll(ctx, markers); err != nil {
		return err
	}
	if err := g.items.DeleteAll(ctx, d.days); err != nil {
		return err
	}
	return g.items.DeleteAll(ctx, d.keys)
}

// outdatedLater returns the slots whose partials stay and must be recounted, because a copy or another
// version of one of their readings was erased. It omits slots whose readings are no longer all stored.
func (g *Aggregator) outdatedLater(ctx context.Context, s varve.Series, d *storedDay) (list []slot, err error) {
	found := map[slot]int64{}
	err = g.scanSpans(ctx, s, spansOf(d.later), store.CopyFunc(func(x store.Copy) error {
		if x.First {
			found[slot{hourOf(x.Reading.Time.Unix()), dayOf(x.Reading.Arrived.Unix())}]++
		}
		return nil
	}))
	for at, l := range d.later {
		if n := found[at]; n > l.readings || n == l.readings && l.isCorrected {
			list = append(list, at)
		}
	}
	return list, err
}
