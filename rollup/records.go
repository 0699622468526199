package rollup

import (
	"context"
	"fmt"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
)

// Source provides the readings from which roll-ups are computed.
type Source interface {
	// ScanCopies passes each stored copy of a series' readings in a window to the given scanner. It
	// includes expired readings in tables that still exist, and all readings that were acknowledged
	// before the call. If the scanner fails, ScanCopies stops and returns the error.
	ScanCopies(ctx context.Context, s varve.Series, w varve.Window, scan store.CopyScanner) error
}

// partialSet has stored partials of hours or of days, which are assembled from their items.
// Partials of dirty slots may be incomplete.
type partialSet map[slot]*Partial

// addItem parses an item and adds it to its partial. It parses only the fields in "only", or all fields
// if "only" is nil. Items must be added in the order of their keys.
func (m partialSet) addItem(it *store.Item, at slot, part int64, only fieldSet) (err error) {
	if part == 0 {
		m[at], err = parsePartial(it, only)
		return err
	}
	if p := m[at]; p != nil {
		return p.parsePart(it, part, only)
	}
	return nil
}

// records reads the markers and partials of series, and recounts slots.
type records struct {
	items  store.Items
	source Source
	resent Resent
}

// markers returns the markers of a series that cover at least one hour of a span.
func (r *records) markers(ctx context.Context, s varve.Series, h span) (list []dirtyMarker, err error) {
	// A marker that covers an hour begins on the day of that hour, so the query begins with that day.
	q := store.ItemQuery{PK: partitionOf(s), From: markerKeyFrom(h.from / dayHours * dayHours), To: markerKeyFrom(h.to), Consistent: true}
	err = r.scanItems(ctx, q, func(it *store.Item) error {
		_, m, err := parseMarker(it.Key)
		if err == nil && m.from+m.hours > h.from {
			list = append(list, m)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("dirty markers of %s: %w", s, err)
	}
	return list, nil
}

// hourPartials returns the stored partials of the hours in a span. They have only the fields in the
// given set.
func (r *records) hourPartials(ctx context.Context, s varve.Series, h span, only fieldSet) (partialSet, error) {
	return r.readPartials(ctx, s, hourKeyFrom(h.from), hourKeyFrom(h.to), only)
}

func (r *records) dayPartials(ctx context.Context, s varve.Series, day int64) (partialSet, error) {
	return r.readPartials(ctx, s, dayKeyFrom(day), dayKeyFrom(day+1), nil)
}

func (r *records) readPartials(ctx context.Context, s varve.Series, from, to string, only fieldSet) (partialSet, error) {
	set := partialSet{}
	q := store.ItemQuery{PK: partitionOf(s), From: from, To: to, Consistent: true}
	err := r.scanItems(ctx, q, func(it *store.Item) error {
		at, part, err := parsePartialKey(it.SK)
		if err != nil {
			return err
		}
		return set.addItem(it, at, part, only)
	})
	return set, err
}

// scanItems passes all items of a query to scan. It stops at the first error of scan, and returns
// this error.
func (r *records) scanItems(ctx context.Context, q store.ItemQuery, scan func(*store.Item) error) error {
	for {
		page, err := r.items.Query(ctx, q)
		if err != nil {
			return err
		}
		for i := range page.Items {
			if err := scan(&page.Items[i]); err != nil {
				return err
			}
		}
		if !page.More {
			return nil
		}
		q.After = &page.Items[len(page.Items)-1]
	}
}
