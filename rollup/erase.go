package rollup

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
)

// FindPartials returns the number of stored partials of hours in a window that begins and ends at
// whole hours. The partial of a day counts only if none of its hours in the window has a partial of
// the same arrival day.
func (g *Aggregator) FindPartials(ctx context.Context, s varve.Series, w varve.Window) (n int, err error) {
	days, err := g.storedDays(ctx, s, hoursIn(w))
	for _, d := range days {
		n += len(d.hours)
	}
	return n, err
}

// ErasePartials removes the partials of the hours in a window, and the partials of the days that include
// these hours. It returns the number that FindPartials would return. The hours become dirty, so they are
// recounted from the readings that are still stored. The window begins and ends at whole hours.
//
// It is called after readings of the window were erased. The partials of hours contain only readings of
// the window, so the recount may leave out readings that are no longer stored. No aggregator runs at the same
// time, because ErasePartials holds the lease of Run. It fails with lease.ErrHeld while another
// process holds that lease.
func (g *Aggregator) ErasePartials(ctx context.Context, s varve.Series, w varve.Window) (erased int, err error) {
	l, err := g.lease.Acquire(ctx, "rollups")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, l.Release(context.WithoutCancel(ctx))) }()
	days, err := g.storedDays(ctx, s, hoursIn(w))
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

// hoursIn returns the hours of a window, limited to the event times that readings may have.
func hoursIn(w varve.Window) span {
	all := varve.AllTime()
	if w.From.Before(all.From) {
		w.From = all.From
	}
	if w.To.After(all.To) {
		w.To = all.To
	}
	return span{hourOf(w.From.Unix()), hourOf(w.To.Add(time.Hour - 1).Unix())}
}

// storedDay has the keys of the partials of one day that must be erased, and their slots.
type storedDay struct {
	hours map[slot]bool
	keys  []store.Key
}

// storedDays finds, by day, the partials of the hours of a span, and the partials of the days that
// include these hours.
func (g *Aggregator) storedDays(ctx context.Context, s varve.Series, within span) (map[int64]*storedDay, error) {
	days := map[int64]*storedDay{}
	q := store.ItemQuery{PK: partitionOf(s), From: hourKeyFrom(within.from), To: hourKeyFrom(within.to), Consistent: true}
	err := g.scanItems(ctx, q, func(it *store.Item) error {
		at, _, err := parsePartialKey(it.SK)
		if err != nil {
			return err
		}
		d := days[at.hour/dayHours]
		if d == nil {
			d = &storedDay{hours: map[slot]bool{}}
			days[at.hour/dayHours] = d
		}
		d.hours[at], d.keys = true, append(d.keys, it.Key)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("roll-ups of %s: %w", s, err)
	}
	q.From, q.To = dayKeyFrom(within.from/dayHours), dayKeyFrom((within.to+dayHours-1)/dayHours)
	err = g.scanItems(ctx, q, func(it *store.Item) error {
		at, _, err := parsePartialKey(it.SK)
		if err != nil {
			return err
		}
		// If an arrival day has no partials of hours in the span, an interrupted call may have deleted
		// them before the partial of the day. Mark the first of these hours as dirty, so that the day
		// is added up once more.
		d := days[at.hour]
		if d == nil {
			d = &storedDay{hours: map[slot]bool{}}
			days[at.hour] = d
		}
		first := slot{hour: max(at.hour*dayHours, within.from), arrival: at.arrival}
		if !slices.ContainsFunc(slices.Collect(maps.Keys(d.hours)), func(o slot) bool { return o.arrival == at.arrival }) {
			d.hours[first] = true
		}
		d.keys = append(d.keys, it.Key)
		return nil
	})
	return days, err
}

// eraseDay puts markers for the slots, and then deletes the partials. Until the aggregator has
// processed the markers, readers recount the hours. Partials of days are deleted last: if this call
// is interrupted, the next one finds the day by them.
func (g *Aggregator) eraseDay(ctx context.Context, s varve.Series, d *storedDay) error {
	until := lateMarkerEnd(g.now().Unix())
	markers := make([]store.Item, 0, len(d.hours))
	for at := range d.hours {
		markers = append(markers, dirtyMarker{from: at.hour, hours: 1, arrival: at.arrival, until: until}.item(s))
	}
	if err := g.items.PutAll(ctx, markers); err != nil {
		return err
	}
	return g.items.DeleteAll(ctx, d.keys)
}
