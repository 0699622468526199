package rollup

import (
	"maps"
	"slices"
	"unsafe"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
)

// fieldCacheBytes is the largest size of the roll-ups that a reader caches.
const fieldCacheBytes = 64 << 20

// fieldCache caches decoded roll-ups of fields. Each list has the version of its items, and is used
// only while the store returns the same version. So a recount is visible in the next read.
type fieldCache = cache[rollupListKey, *rollupList]

// rollupListKey identifies the roll-ups of a field whose sort keys begin with a prefix.
type rollupListKey struct {
	series varve.Series
	field  string
	prefix string
}

// rollupList has the stored roll-ups of a field, in order. It is never changed.
type rollupList struct {
	version store.Version
	list    []FieldRollup
	unclear []int64 // periods, by number, with a partial that lacks parts or replaces others
}

// longBytes is the approximate size of FieldRollup.long with the digits of its sum.
const longBytes = int(unsafe.Sizeof(Field{})) + 64

// size returns the approximate size of a list with its key.
func (b *rollupList) size() int {
	size := 400 + cap(b.list)*int(unsafe.Sizeof(FieldRollup{})) + 8*len(b.unclear)
	for i := range b.list {
		if b.list[i].long != nil {
			size += longBytes
		}
	}
	return size
}

// newRollupList returns a list with one roll-up per period, which adds up the partials of the period.
func newRollupList(partials partialSet, field string) *rollupList {
	b := &rollupList{list: make([]FieldRollup, 0, len(partials))}
	periods := make(map[int64][]*Partial, len(partials))
	for at, p := range partials {
		if p.checkComplete() != nil || p.replaces {
			b.unclear = append(b.unclear, at.hour)
		} else if p.Readings > 0 && p.Field(field) != nil {
			periods[at.hour] = append(periods[at.hour], p)
		}
	}
	for _, period := range slices.Sorted(maps.Keys(periods)) {
		b.list = append(b.list, newFieldRollup(period, sumOf(periods[period]).Field(field)))
	}
	slices.Sort(b.unclear)
	b.unclear = slices.Compact(b.unclear)
	return b
}

// sumOf returns the sum of partials of one period. Most periods have only one partial.
func sumOf(partials []*Partial) *Partial {
	if len(partials) == 1 {
		return partials[0]
	}
	var total tally
	for _, p := range partials {
		total.merge(p)
	}
	return total.result()
}
