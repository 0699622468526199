package rollup

import (
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
)

// Limits of the cache of pages.
const (
	pageCacheBytes = 16 << 20       // the largest size of all pages
	maxCachedHours = 366 * dayHours // the largest number of hours of a cached page
)

// pageCache caches pages that were recounted. Each page has the versions of the items and of the readings
// on which it depends, and is used only while the store returns the same versions. So every new reading
// is visible in the next read.
type pageCache struct {
	cache[pageKey, *cachedPage]
	items    store.VersionedItems    // nil if other processes may change them
	readings store.VersionedReadings // the versions of readings; nil if other processes may change them
}

// pageKey identifies a query for the first page without AsOf.
type pageKey struct {
	series varve.Series
	period Period
	span   span
	limit  int
	fields string // names of the fields, each after its length
}

// size returns the approximate size of a key.
func (k *pageKey) size() int {
	return 200 + len(k.series.Tenant) + len(k.series.Stream) + len(k.series.Device) + len(k.fields)
}

// cachedPage is a page with the versions of the items and readings that it was computed from. It is never
// changed.
type cachedPage struct {
	versions []store.Version
	page     Page
	bytes    int // approximate size of the page with its key
}

// newCachedPage returns a copy of a page. Names and ids of the original may be parts of long texts, which
// must not stay in memory.
func newCachedPage(k *pageKey, versions []store.Version, p Page) *cachedPage {
	names := map[string]string{}
	rollups := slices.Clone(p.Rollups)
	for i := range rollups {
		fields := slices.Clone(rollups[i].Fields)
		for k := range fields {
			f := &fields[k]
			name, ok := names[f.Name]
			if !ok {
				name = strings.Clone(f.Name)
				names[name] = name
			}
			f.Name = name
			f.First.At.ID, f.Last.At.ID = cloneID(f.First.At.ID), cloneID(f.Last.At.ID)
		}
		rollups[i].Fields = fields
	}
	p.Rollups = rollups
	c := &cachedPage{versions: versions, page: p}
	c.bytes = k.size() + c.measure()
	return c
}

func cloneID(id varve.ID) varve.ID {
	if _, hashed := id.Hash(); hashed || id.IsZero() {
		return id
	}
	c, err := varve.ParseKey(id.Key())
	if err != nil {
		return id // impossible, because the key of an id can be parsed
	}
	return c
}

func (c *cachedPage) size() int { return c.bytes }

// measure returns the approximate size of a page without its key.
func (c *cachedPage) measure() int {
	size := 300 + len(c.versions)*int(unsafe.Sizeof(store.Version{}))
	for i := range c.page.Rollups {
		r := &c.page.Rollups[i]
		size += int(unsafe.Sizeof(r.Start)) + r.memory()
	}
	return size
}

// memory returns the approximate size of a partial in memory.
func (p *Partial) memory() int {
	size := int(unsafe.Sizeof(*p)) + len(p.fingerprints) + len(p.minutes)
	size += len(p.Fields) * longBytes
	for i := range p.Fields {
		f := &p.Fields[i]
		size += len(f.Name) + len(f.First.At.ID.Key()) + len(f.Last.At.ID.Key())
	}
	return size
}

// key returns the key of the first page of a query.
func (q *Query) key(h span) pageKey {
	// The key has copies, because names of the caller may be parts of long texts.
	var fields strings.Builder
	for _, name := range q.Fields {
		fields.WriteString(strconv.Itoa(len(name)))
		fields.WriteByte(':')
		fields.WriteString(name)
	}
	series := varve.Series{
		Tenant: strings.Clone(q.Series.Tenant), Stream: strings.Clone(q.Series.Stream), Device: strings.Clone(q.Series.Device),
	}
	return pageKey{series, q.Period, h, q.Limit, fields.String()}
}

// versions returns the versions of all items and readings from which roll-ups of a span are computed. It
// returns false if the store has no versions, if the span is too long, or while one of them changes.
func (c *pageCache) versions(s varve.Series, h span) (list []store.Version, ok bool) {
	if c.items == nil || c.readings == nil || h.to-h.from > maxCachedHours {
		return nil, false
	}
	v, ok := c.readings.ReadingVersion(s)
	if !ok {
		return nil, false
	}
	list, pk := append(list, v), partitionOf(s)
	days := span{h.from / dayHours * dayHours, (h.to + dayHours - 1) / dayHours * dayHours}
	for _, prefix := range slices.Concat(hourPrefixes(days, markerKeyFrom), hourPrefixes(days, hourKeyFrom), dayPrefixes(days)) {
		v, ok := c.items.ItemVersion(pk, prefix)
		if !ok {
			return nil, false
		}
		list = append(list, v)
	}
	return list, true
}

// hourPrefixes returns the prefixes of the sort keys of the hours in a span, in order.
func hourPrefixes(h span, key func(hour int64) string) []string {
	// The keys of hours with one prefix cover 1,000,000 seconds. A larger step would skip prefixes.
	return prefixes(h, 1_000_000/hourSeconds, key)
}

// dayPrefixes returns the prefixes of the sort keys of the days in a span, in order.
func dayPrefixes(h span) []string {
	// The keys of days with one prefix cover a year.
	return prefixes(h, 365*dayHours, func(hour int64) string { return dayKeyFrom(hour / dayHours) })
}

func prefixes(h span, step int64, key func(hour int64) string) (list []string) {
	for hour := h.from; hour < h.to; hour += step {
		list = append(list, key(hour)[:store.VersionedPrefix])
	}
	return slices.Compact(append(list, key(h.to - 1)[:store.VersionedPrefix]))
}
