package store

import (
	"hash/maphash"
	"sync/atomic"
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
	// equal versions, all reads of these items between the calls have equal results. Changes of
	// other items may change a version, too.
	ItemVersion(pk, sk string) (ItemVersion, bool)
}

// ItemVersion identifies a state of some items in this process. Only equality has a meaning.
type ItemVersion struct{ all, some uint32 }

// versionCounters is the number of counters over which partitions and sort keys are spread.
const versionCounters = 1 << 16

// anyItem is the index of the counter of changes that may affect any item.
const anyItem = -1

// ItemVersions counts changes of items for stores that implement [VersionedItems]. The zero value is
// ready for use.
type ItemVersions struct {
	all      changeCounter // changes whose items are unknown, so that any item may have changed
	counters [versionCounters]changeCounter
}

// changeCounter counts each change twice: in "begun" before any reader can see the change, and in
// "ended" when all readers see it.
type changeCounter struct{ begun, ended atomic.Uint32 }

// load returns the number of changes that have begun. The result ok is false if one of them is
// under way.
func (c *changeCounter) load() (n uint32, ok bool) {
	ended := c.ended.Load() // read before begun, so that equality means that every change has ended
	n = c.begun.Load()
	return n, n == ended
}

func (v *ItemVersions) counter(i int) *changeCounter {
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
		v.counter(i).begun.Add(1)
	}
	return counters
}

// End counts a change as visible to all readers.
func (v *ItemVersions) End(counters []int) {
	for _, i := range counters {
		v.counter(i).ended.Add(1)
	}
}

// ItemVersion implements [VersionedItems].
func (v *ItemVersions) ItemVersion(pk, sk string) (ItemVersion, bool) {
	all, ok1 := v.all.load()
	some, ok2 := v.counters[counterOf(pk, sk)].load()
	return ItemVersion{all, some}, ok1 && ok2
}

var versionSeed = maphash.MakeSeed()

// counterOf returns the index of the counter for a partition and a sort key.
func counterOf(pk, sk string) int {
	k := Key{PK: pk, SK: sk[:min(len(sk), VersionedPrefix)]}
	return int(maphash.Comparable(versionSeed, k) % versionCounters)
}
