package rollup

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/varvedb/varve/store"
)

// Reader reads roll-ups.
type Reader struct {
	records
	versioned store.VersionedItems // the items with their versions; nil if other processes may change them
	held      fieldCache
	pages     pageCache
}

// NewReader returns a reader. If items implement [store.VersionedItems], the reader caches roll-ups. If
// they also implement [store.VersionedReadings], they are the store of the source, and the reader caches
// pages that it recounted.
func NewReader(items store.Items, source Source, resent Resent) *Reader {
	r := &Reader{
		records: records{items: items, source: source, resent: resent},
		held:    fieldCache{limit: fieldCacheBytes}, pages: pageCache{cache: cache[pageKey, *cachedPage]{limit: pageCacheBytes}},
	}
	r.versioned, _ = items.(store.VersionedItems)
	r.pages.items = r.versioned
	r.pages.readings, _ = items.(store.VersionedReadings)
	return r
}

// Read returns the first page of the window. Its roll-ups equal a recount of all distinct readings
// that were acknowledged before the call. With AsOf, they equal a recount at that time, and Read
// fails if this would need readings that are no longer stored.
func (r *Reader) Read(ctx context.Context, q Query) (Page, error) {
	if err := q.validate(); err != nil {
		return Page{}, err
	}
	if q.Limit == 0 {
		q.Limit = DefaultLimit
	}
	h := q.span()
	if h.from >= h.to {
		return Page{}, nil
	}
	versions, cacheable := []store.Version(nil), false
	if q.AsOf.IsZero() {
		versions, cacheable = r.pages.versions(q.Series, h)
	}
	key := q.key(h)
	if cacheable {
		if c, ok := r.pages.get(key); ok && slices.Equal(c.versions, versions) {
			return c.page, context.Cause(ctx) // fails if ctx has ended, as reading the page would
		}
	}
	for {
		b := pageBuilder{Reader: r, q: &q, only: fieldSetOf(q.Fields), hours: q.Period.hours(), span: h, cut: cutOf(q.AsOf)}
		p, err := b.build(ctx)
		if errors.Is(err, errMoved) {
			continue
		}
		if err == nil && cacheable && len(b.dirty) > 0 { // other pages are cheap
			r.pages.put(key, newCachedPage(&key, versions, p))
		}
		return p, err
	}
}

// errMoved reports that readings may have moved between slots during a read, because a new marker
// was put.
var errMoved = errors.New("readings moved between partials during the read")

// pageBuilder builds one page. It reads the markers first and the partials second, so partials of
// slots without a marker are complete. The aggregator writes partials first and deletes markers
// second.
type pageBuilder struct {
	*Reader
	q       *Query
	only    fieldSet
	hours   int64 // number of hours in a period
	span    span  // hours of the page; it may become shorter
	cut     cut   // excludes the readings that arrived after AsOf
	markers []dirtyMarker
	dirty   map[slot]bool // dirty slots that the cut does not exclude
	marked  map[slot]bool // all dirty slots
	stored  partialSet    // partials of hours or days, depending on the period
	// hourly has the stored partials of hours. For daily roll-ups, it has only the days that are
	// added up from their hours.
	hourly   partialSet
	totals   map[int64]*tally // total of each period
	partials pagePartials
}

func (b *pageBuilder) build(ctx context.Context) (page Page, err error) {
	end := b.span.to
	if b.markers, err = b.Reader.markers(ctx, b.q.Series, b.span); err != nil {
		return page, err
	}
	if err := b.readStored(ctx); err != nil {
		return page, err
	}
	b.trimToLimit()
	b.totals = map[int64]*tally{}
	if err := b.addStored(ctx); err != nil {
		return page, err
	}
	if err := b.addRecounted(ctx); err != nil {
		return page, err
	}
	for _, o := range b.partials.list {
		if b.partials.isReplaced(o.at) {
			continue
		}
		if err := b.add(o.period, o.p); err != nil {
			return page, err
		}
	}
	for _, n := range slices.Sorted(maps.Keys(b.totals)) {
		page.Rollups = append(page.Rollups, Rollup{Start: b.q.Period.start(n), Partial: *b.totals[n].result()})
	}
	if b.span.to < end {
		page.Next = Hourly.start(b.span.to)
	}
	return page, nil
}

var errPageFull = errors.New("the page is full")

// readStored reads stored partials until the page has as many periods or bytes as the limits allow.
func (b *pageBuilder) readStored(ctx context.Context) error {
	from, to := hourKeyFrom(b.span.from), hourKeyFrom(b.span.to)
	if b.q.Period == Daily {
		from, to = dayKeyFrom(b.span.from/b.hours), dayKeyFrom(b.span.to/b.hours)
	}
	b.stored = partialSet{}
	last, periods, bytes := int64(-1), 0, 0
	q := store.ItemQuery{PK: partitionOf(b.q.Series), From: from, To: to, Consistent: true}
	err := b.scanItems(ctx, q, func(it *store.Item) error {
		at, part, err := parsePartialKey(it.SK)
		if err != nil {
			return err
		}
		if at.hour != last && part == 0 {
			if last, periods = at.hour, periods+1; periods > b.q.Limit || bytes >= pageBytes {
				b.span.to = at.hour * b.hours
				return errPageFull
			}
		}
		for _, v := range it.Attrs {
			bytes += len(v.Text()) // parsed fields retain these texts, even if the query excludes other fields
		}
		return b.stored.addItem(it, at, part, b.only)
	})
	if err != nil && !errors.Is(err, errPageFull) {
		return fmt.Errorf("roll-ups of %s: %w", b.q.Series, err)
	}
	return nil
}

// trimToLimit shortens the page if the number of stored and dirty periods exceeds the limit.
func (b *pageBuilder) trimToLimit() {
	b.dirty = dirtySlots(b.markers, b.span)
	b.marked = maps.Clone(b.dirty)
	b.applyCut()
	periods := map[int64]bool{}
	for at := range b.dirty {
		periods[at.hour/b.hours] = true
	}
	for at := range b.stored {
		periods[at.hour] = true
	}
	if len(periods) <= b.q.Limit {
		return
	}
	b.endBefore(slices.Sorted(maps.Keys(periods))[b.q.Limit] * b.hours)
}

// endBefore ends the page before an hour, which begins a period.
func (b *pageBuilder) endBefore(hour int64) {
	b.span.to = hour
	maps.DeleteFunc(b.dirty, func(at slot, _ bool) bool { return at.hour >= hour })
	maps.DeleteFunc(b.stored, func(at slot, _ *Partial) bool { return at.hour*b.hours >= hour })
	maps.DeleteFunc(b.totals, func(period int64, _ *tally) bool { return period*b.hours >= hour })
	b.partials.removeFrom(hour)
}

// add adds a partial to the total of its period. It fails if the partial lacks a part.
func (b *pageBuilder) add(period int64, p *Partial) error {
	if err := p.checkComplete(); err != nil {
		return fmt.Errorf("%s roll-up of %s of %s: %w", b.q.Period, b.q.Period.start(period).Format(time.RFC3339), b.q.Series, err)
	}
	switch t := b.totals[period]; {
	case p.Readings == 0:
	case t == nil:
		b.totals[period] = &tally{sum: *p}
	default:
		t.merge(p)
	}
	return nil
}

// addExcept adds hourly partials to the page, without the slots for which skip returns true.
func (b *pageBuilder) addExcept(partials map[slot]*Partial, skip func(slot) bool) {
	for at, p := range partials {
		if !skip(at) {
			b.partials.add(at, at.hour/b.hours, p)
		}
	}
}

// addStored adds the stored partials of slots that are not dirty. In three cases, it adds the hours of
// a day that need no recount instead of the partials of the day:
//
//   - The day has dirty hours.
//   - A partial of the day replaces other partials.
//   - The cut divides a partial of the day.
func (b *pageBuilder) addStored(ctx context.Context) error {
	skip := func(at slot) bool { return b.dirty[at] || b.cut.divides(at, b.hourly[at]) }
	if b.q.Period == Hourly {
		b.hourly = b.stored
		b.addExcept(b.stored, skip)
		return nil
	}
	b.hourly = partialSet{}
	hours := map[slot]bool{} // all hours of the days whose totals are computed from their hours
	for at := range b.dirty {
		for h := range b.hours {
			hours[slot{hour: at.hour/b.hours*b.hours + h}] = true
		}
	}
	for at, p := range b.stored {
		if p.replaces || b.cut.divides(at, p) {
			for h := range b.hours {
				hours[slot{hour: at.hour*b.hours + h}] = true
			}
		}
	}
	for at, p := range b.stored {
		if hours[slot{hour: at.hour * b.hours}] {
			continue
		}
		if err := b.add(at.hour, p); err != nil {
			return err
		}
	}
	for _, h := range spansOf(hours) {
		stored, err := b.hourPartials(ctx, b.q.Series, h, b.only)
		if err != nil {
			return fmt.Errorf("roll-ups of %s: %w", b.q.Series, err)
		}
		b.removeLater(stored)
		maps.Copy(b.hourly, stored)
		b.addExcept(stored, skip)
	}
	return nil
}

func (b *pageBuilder) addRecounted(ctx context.Context) error {
	divided := b.dividedSlots()
	if len(b.dirty)+len(divided) == 0 {
		return nil
	}
	recounted, err := b.recount(ctx, divided)
	if err != nil {
		return err
	}
	b.addExcept(recounted, func(slot) bool { return false })
	return b.checkUnmoved(ctx, divided)
}

// recount recounts the dirty and the divided slots. It recounts one day after the other, because each
// recount holds all corrected readings of its hours in memory. The page ends before the first day for
// which it has no room.
func (b *pageBuilder) recount(ctx context.Context, divided map[slot]bool) (map[slot]*Partial, error) {
	slots := maps.Clone(b.dirty)
	maps.Copy(slots, divided)
	days, stored, recounted := splitByDay(slots), splitByDay(b.hourly), map[slot]*Partial{}
	bytes := 0
	for _, day := range slices.Sorted(maps.Keys(days)) {
		if bytes >= pageBytes {
			b.endBefore(day * dayHours)
			break
		}
		partials, err := b.recountDay(ctx, days[day], stored[day], divided)
		if err != nil {
			return nil, err
		}
		for at, p := range partials {
			recounted[at] = p
			bytes += p.memory()
		}
	}
	return recounted, nil
}

func (b *pageBuilder) recountDay(ctx context.Context, slots map[slot]bool, stored partialSet, divided map[slot]bool) (map[slot]*Partial, error) {
	if b.cut.at > 0 {
		return b.recountDivided(ctx, slots, stored, divided)
	}
	return b.recountSlots(ctx, b.q.Series, newRecount(b.resent, tally{only: b.only}, slots, slots, stored))
}

// checkUnmoved fails with errMoved if a reading may have been counted in two slots. That can
// happen if a copy with an earlier arrival is stored during the read. The slots of both copies
// have markers before the copy is stored.
func (b *pageBuilder) checkUnmoved(ctx context.Context, divided map[slot]bool) error {
	hours := map[int64]bool{}
	for at := range b.dirty {
		hours[at.hour] = true
	}
	for at := range divided {
		hours[at.hour] = true
	}
	now, err := b.Reader.markers(ctx, b.q.Series, b.span)
	if err != nil {
		return err
	}
	for at := range dirtySlots(now, b.span) {
		if hours[at.hour] && !b.marked[at] {
			return errMoved
		}
	}
	return nil
}
