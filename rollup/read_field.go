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

// FieldQuery selects the roll-ups of one field of one series.
type FieldQuery struct {
	Series varve.Series
	Period Period
	Window varve.Window // every period that overlaps the window is included as a whole
	Field  string
}

// ReadField returns the roll-ups of a field, as several lists in order. The caller must not change
// them. They equal the result of Read with the same window, without periods that lack the field.
//
// Stored roll-ups are cached if the store implements [store.VersionedItems]. Dirty markers are
// always read from the store, and periods with dirty hours are read with Read.
func (r *Reader) ReadField(ctx context.Context, q FieldQuery) (lists [][]FieldRollup, err error) {
	whole := Query{Series: q.Series, Period: q.Period, Window: q.Window, Fields: []string{q.Field}, Limit: MaxLimit}
	if err := whole.validate(); err != nil {
		return nil, err
	}
	f := fieldReader{Reader: r, q: q, pk: partitionOf(q.Series), hours: q.Period.hours()}
	h := whole.span()
	if r.versioned == nil || h.from >= h.to {
		return f.appendRead(ctx, nil, h)
	}
	markers, err := r.markers(ctx, q.Series, h)
	if err != nil {
		return nil, err
	}
	recounted := map[int64]bool{} // periods whose stored partials do not suffice, so that appendRead reads them
	for at := range dirtySlots(markers, h) {
		recounted[at.hour/f.hours] = true
	}
	if err := f.readStoredLists(ctx, h, recounted); err != nil {
		return nil, err
	}
	from := h.from / f.hours
	for _, period := range slices.Sorted(maps.Keys(recounted)) {
		if period < from {
			continue // this period was read with an earlier one
		}
		end := period + 1
		for recounted[end] {
			end++
		}
		lists = f.appendHeld(lists, from, period)
		if lists, err = f.appendRead(ctx, lists, span{period * f.hours, end * f.hours}); err != nil {
			return nil, err
		}
		from = end
	}
	return f.appendHeld(lists, from, h.to/f.hours), nil
}

type fieldReader struct {
	*Reader
	q      FieldQuery
	pk     string
	hours  int64 // number of hours in a period
	stored []*rollupList
}

// readStoredLists reads the stored roll-ups of a span, from the cache if possible. It adds a period
// to "recounted" if one of its partials lacks parts or replaces other partials.
func (f *fieldReader) readStoredLists(ctx context.Context, h span, recounted map[int64]bool) error {
	last := ""
	for _, prefix := range f.prefixes(h) {
		if prefix == last {
			continue
		}
		last = prefix
		b, err := f.storedList(ctx, prefix)
		if err != nil {
			return fmt.Errorf("roll-ups of %s: %w", f.q.Series, err)
		}
		f.stored = append(f.stored, b)
		for _, period := range b.unclear {
			if period*f.hours >= h.from && period*f.hours < h.to {
				recounted[period] = true
			}
		}
	}
	return nil
}

// prefixes returns the prefixes of the sort keys in a span, in order.
func (f *fieldReader) prefixes(h span) []string {
	if f.q.Period == Daily {
		return dayPrefixes(h)
	}
	return hourPrefixes(h, hourKeyFrom)
}

// storedList returns the stored roll-ups whose sort keys begin with a prefix. It caches them, unless
// they change during the read.
func (f *fieldReader) storedList(ctx context.Context, prefix string) (*rollupList, error) {
	k := rollupListKey{f.q.Series, f.q.Field, prefix}
	version, stable := f.versioned.ItemVersion(f.pk, prefix)
	if stable {
		if b, ok := f.held.get(k); ok && b.version == version {
			return b, nil
		}
	}
	partials, err := f.readPartials(ctx, f.q.Series, prefix, store.PrefixEnd(prefix), fieldSetOf([]string{f.q.Field}))
	if err != nil {
		return nil, err
	}
	b := newRollupList(partials, f.q.Field)
	b.version = version
	if now, ok := f.versioned.ItemVersion(f.pk, prefix); stable && ok && now == version {
		f.held.put(k, b)
	}
	return b, nil
}

// appendHeld appends the stored roll-ups of the periods from "from" to before "to".
func (f *fieldReader) appendHeld(lists [][]FieldRollup, from, to int64) [][]FieldRollup {
	index := func(b *rollupList, period int64) int {
		i, _ := slices.BinarySearchFunc(b.list, period, func(r FieldRollup, period int64) int { return cmp.Compare(r.period, period) })
		return i
	}
	for _, b := range f.stored {
		if list := b.list[index(b, from):max(index(b, from), index(b, to))]; len(list) > 0 {
			lists = append(lists, list)
		}
	}
	return lists
}

// appendRead appends the roll-ups of a span, page by page, from Read.
func (f *fieldReader) appendRead(ctx context.Context, lists [][]FieldRollup, h span) ([][]FieldRollup, error) {
	q := Query{Series: f.q.Series, Period: f.q.Period, Window: h.window(), Fields: []string{f.q.Field}, Limit: MaxLimit}
	for h.from < h.to {
		page, err := f.Read(ctx, q)
		if err != nil {
			return nil, err
		}
		list := make([]FieldRollup, 0, len(page.Rollups))
		for i := range page.Rollups {
			if field := page.Rollups[i].Field(f.q.Field); field != nil {
				list = append(list, newFieldRollup(hourOf(page.Rollups[i].Start.Unix())/f.hours, field))
			}
		}
		if lists = append(lists, list); page.Next.IsZero() {
			break
		}
		q.Window.From = page.Next
	}
	return lists, nil
}
