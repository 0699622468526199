package rollup

import (
	"context"
	"fmt"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
)

// Rewind removes the readings that arrived after a time from the stored roll-ups of a series. No other
// process may use the store at the same time.
//
// Partials and markers of later arrival days are deleted. A partial whose arrival day contains the
// time is deleted if some of its readings arrived after the time, or may have. Then its hour becomes
// dirty, so that it is recounted from the stored readings. All other partials have only readings that
// arrived earlier, and remain.
//
// It returns the number of partials of hours that it deleted.
func Rewind(ctx context.Context, items store.Items, now time.Time, s varve.Series, arrived time.Time) (deleted int, err error) {
	r := rewinder{records: records{items: items}, cut: cutOf(arrived), days: map[int64]*storedDay{}}
	for _, find := range []func(context.Context, varve.Series) error{r.findHours, r.findDays, r.findMarkers} {
		if err := find(ctx, s); err != nil {
			return 0, fmt.Errorf("roll-ups of %s: %w", s, err)
		}
	}
	until := lateMarkerEnd(now.Unix())
	var markers []store.Item
	for _, d := range r.days {
		deleted += len(d.hours)
		for at := range d.hours {
			markers = append(markers, dirtyMarker{from: at.hour, hours: 1, arrival: at.arrival, until: until}.item(s))
		}
		r.keys = append(r.keys, d.keys...)
	}
	if err := items.PutAll(ctx, markers); err != nil {
		return 0, fmt.Errorf("mark roll-ups of %s: %w", s, err)
	}
	if err := items.DeleteAll(ctx, r.keys); err != nil {
		return 0, fmt.Errorf("delete roll-ups of %s: %w", s, err)
	}
	return deleted + r.later, nil
}

type rewinder struct {
	records
	cut   cut
	days  map[int64]*storedDay // partials to delete, by day of event time; their hours become dirty
	keys  []store.Key          // items of later arrival days
	later int                  // number of partials of hours in keys
}

func (r *rewinder) findHours(ctx context.Context, s varve.Series) error {
	all := allDays().span()
	q := store.ItemQuery{PK: partitionOf(s), From: hourKeyFrom(all.from), To: hourKeyFrom(all.to), Consistent: true}
	return r.scanItems(ctx, q, func(it *store.Item) error {
		at, part, err := parsePartialKey(it.SK)
		switch {
		case err != nil:
			return err
		case r.cut.excludes(at):
			if r.keys = append(r.keys, it.Key); part == 0 {
				r.later++
			}
			return nil
		case at.arrival != r.cut.day:
			return nil
		}
		if part == 0 {
			p, err := parsePartial(it, noFields)
			if err != nil {
				return err
			}
			if !r.cut.divides(at, p) {
				return nil
			}
			d := r.days[at.hour/dayHours]
			if d == nil {
				d = &storedDay{hours: map[slot]bool{}}
				r.days[at.hour/dayHours] = d
			}
			d.hours[at] = true
		}
		if d := r.days[at.hour/dayHours]; d != nil && d.hours[at] {
			d.keys = append(d.keys, it.Key)
		}
		return nil
	})
}

// findDays collects the partials of days. The partial of a day is deleted if the partial of one of
// its hours is deleted.
func (r *rewinder) findDays(ctx context.Context, s varve.Series) error {
	all := allDays()
	q := store.ItemQuery{PK: partitionOf(s), From: dayKeyFrom(all.from), To: dayKeyFrom(all.to), Consistent: true}
	return r.scanItems(ctx, q, func(it *store.Item) error {
		at, _, err := parsePartialKey(it.SK)
		if err != nil {
			return err
		}
		d := r.days[at.hour]
		switch {
		case r.cut.excludes(at):
			r.keys = append(r.keys, it.Key)
		case at.arrival == r.cut.day && d != nil:
			d.keys = append(d.keys, it.Key)
		}
		return nil
	})
}

func (r *rewinder) findMarkers(ctx context.Context, s varve.Series) error {
	markers, err := r.markers(ctx, s, allDays().span())
	for _, m := range markers {
		if r.cut.excludes(slot{m.from, m.arrival}) {
			r.keys = append(r.keys, m.key(s))
		}
	}
	return err
}
