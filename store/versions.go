package store

import (
	"hash/maphash"
	"sync/atomic"

	"github.com/varvedb/varve"
)

// VersionedPrefix is the number of leading bytes of a sort key that determine the version of an
// item.
const VersionedPrefix = 6

// VersionedItems is the optional contract of stores whose items only this process changes. With it,
// a reader can cache items, and check that they still equal the stored ones.
type VersionedItems interface {
	// ItemVersion returns the version of the items of a partition whose sort keys begin as sk does.
	// It compares the first VersionedPrefix bytes.
	//
	// It returns false while a change of such an item is under way. If two calls return true and
	// equal versions, all reads of these items between the calls have equal results, unless an item
	// expires in between. Changes of other items may change a version, too.
	ItemVersion(pk, sk string) (Version, bool)
}

// VersionedReadings is the optional contract of stores whose readings only this process changes. With
// it, a reader can cache results that it computed from the readings of a series.
type VersionedReadings interface {
	// ReadingVersion returns the version of the readings of a series in all tables.
	//
	// It returns false while a change of these readings is under way. If two calls return true and equal
	// versions, no readings of the series were added or deleted between the calls. The exception is a change
	// of a whole table, such as a drop. It may keep this version, but gives every item of the registry a new
	// version (see VersionedItems). Changes of other series may change a version, too.
	ReadingVersion(s varve.Series) (Version, bool)
}

// Version identifies a state of some items or readings in this process. Only equality has a meaning.
type Version struct{ all, some uint32 }

// versionCounters is the number of counters over which partitions and sort keys, or series, are spread.
const versionCounters = 1 << 16

// anyItem is the index of the counter of changes that may affect any item.
const anyItem = -1

// ItemVersions counts changes of items for stores that implement [VersionedItems]. The zero value is
// ready for use.
type ItemVersions struct {
	all      ChangeCounter // changes whose items are unknown, so that any item may have changed
	counters [versionCounters]ChangeCounter
}

// ReadingVersions counts changes of readings for stores that implement [VersionedReadings]. The zero
// value is ready for use.
type ReadingVersions struct {
	counters [versionCounters]ChangeCounter
}

// Counter returns the counter of the changes of a series, which other series may share.
func (v *ReadingVersions) Counter(s varve.Series) *ChangeCounter {
	return &v.counters[maphash.Comparable(versionSeed, s)%versionCounters]
}

// ReadingVersion implements [VersionedReadings].
func (v *ReadingVersions) ReadingVersion(s varve.Series) (Version, bool) {
	n, ok := v.Counter(s).load()
	return Version{some: n}, ok
}

// ChangeCounter counts each change twice. Begin counts it before any reader can see it, and End when all
// readers see it.
type ChangeCounter struct{ begun, ended atomic.Uint32 }

// Begin counts a change before a reader can see it.
func (c *ChangeCounter) Begin() { c.begun.Add(1) }

// End counts a change as visible to all readers.
func (c *ChangeCounter) End() { c.ended.Add(1) }

// load returns the number of changes that have begun. The result ok is false if one of them is
// under way.
func (c *ChangeCounter) load() (n uint32, ok bool) {
	ended := c.ended.Load() // read before begun, so that equality means that every change has ended
	n = c.begun.Load()
	return n, n == ended
}

func (v *ItemVersions) counter(i int) *ChangeCounter {
	if i == anyItem {
		return &v.all
	}
	return &v.counters[i]
}

// Begin counts a change of items, before a reader can see the change. If keys is empty, any item
// may change. The result has the indexes of the counters, for End.
func (v *ItemVersions) Begin(keys []Key) (counters []int) {
	if len(keys) == 0 {
		counters = []int{anyItem}
	}
	for _, k := range keys {
		counters = append(counters, counterOf(k.PK, k.SK))
	}
	for _, i := range counters {
		v.counter(i).Begin()
	}
	return counters
}

// End counts a change as visible to all readers.
func (v *ItemVersions) End(counters []int) {
	for _, i := range counters {
		v.counter(i).End()
	}
}

// ItemVersion implements [VersionedItems].
func (v *ItemVersions) ItemVersion(pk, sk string) (Version, bool) {
	all, ok1 := v.all.load()
	some, ok2 := v.counters[counterOf(pk, sk)].load()
	return Version{all, some}, ok1 && ok2
}

var versionSeed = maphash.MakeSeed()

// counterOf returns the index of the counter for a partition and a sort key.
func counterOf(pk, sk string) int {
	k := Key{PK: pk, SK: sk[:min(len(sk), VersionedPrefix)]}
	return int(maphash.Comparable(versionSeed, k) % versionCounters)
}
