package rollup

import (
	"context"
	"fmt"
	"maps"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
)

// Rebuild marks hours of a series as dirty if their roll-ups lack readings. Such readings were
// written while roll-ups were off. Rebuild returns the number of marked hours, counted once per
// arrival day. From then on, reads include those readings.
//
// Rebuild skips an hour if the correct content of its roll-up is uncertain, and returns the
// number of skipped hours. The content is uncertain in two cases:
//
//   - Readings of the roll-up are gone. Readings that arrived on another day may be copies of
//     them.
//   - A retention changed, and now another copy of a reading counts.
func (g *Aggregator) Rebuild(ctx context.Context, s varve.Series, window varve.Window) (marked, skipped int, err error) {
	if err := window.Validate(); err != nil {
		return 0, 0, varve.InvalidParam("to", "%s", err)
	}
	hours := Query{Period: Hourly, Window: window}
	b := rebuilder{g: g, series: s, day: -1}
	err = g.source.ScanCopies(ctx, s, hours.span().window(), store.CopyFunc(func(x store.Copy) error { return b.add(ctx, x) }))
	if err == nil {
		err = b.finishDay(ctx)
	}
	if err != nil {
		return b.marked, b.skipped, fmt.Errorf("rebuild %s: %w", s, err)
	}
	return b.marked, b.skipped, nil
}

type rebuilder struct {
	g               *Aggregator
	series          varve.Series
	day             int64
	dirty           map[slot]bool // dirty slots of the current day
	partials        partialSet    // stored hourly partials of the current day
	recount         *recount      // recount of the current day; nil before the first day
	marked, skipped int
}

// add adds a copy. The first copy of a new day finishes the day before it.
func (b *rebuilder) add(ctx context.Context, x store.Copy) error {
	if day := dayOf(x.Reading.Time.Unix()); day != b.day {
		if err := b.finishDay(ctx); err != nil {
			return err
		}
		if err := b.beginDay(ctx, day); err != nil {
			return err
		}
	}
	return b.recount.Copy(x)
}

// beginDay reads the markers of a day and then its partials. In this order, partials of slots
// without a marker are complete.
func (b *rebuilder) beginDay(ctx context.Context, day int64) error {
	b.day = day
	markers, err := b.g.markers(ctx, b.series, daySpan(day))
	if err != nil {
		return err
	}
	if b.partials, err = b.g.hourPartials(ctx, b.series, daySpan(day), noFields); err != nil {
		return err
	}
	b.dirty = dirtySlots(markers, daySpan(day))
	b.recount = newRecount(b.g.resent, tally{only: noFields, list: &readingList{}}, nil, b.dirty, b.partials)
	return nil
}

// finishDay puts markers for the outdated hours of the day.
func (b *rebuilder) finishDay(ctx context.Context) error {
	if b.recount == nil {
		return nil
	}
	if err := b.recount.finish(ctx); err != nil {
		return err
	}
	markers, err := b.g.markers(ctx, b.series, daySpan(b.day))
	if err != nil {
		return err
	}
	maps.Copy(b.dirty, dirtySlots(markers, daySpan(b.day))) // includes hours that were marked since beginDay
	lacking, unknown := outdatedSlots(b.recount.aggregates, b.partials, b.dirty)
	until := lateMarkerEnd(b.g.now().Unix())
	var items []store.Item
	for _, at := range lacking {
		items = append(items, dirtyMarker{from: at.hour, hours: 1, arrival: at.arrival, until: until}.item(b.series))
	}
	if err := b.g.items.PutAll(ctx, items); err != nil {
		return err
	}
	b.marked, b.skipped = b.marked+len(items), b.skipped+len(unknown)
	return nil
}
