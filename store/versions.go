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

// versionSlots is the number of counters over which partitions and sort keys are spread.
const versionSlots = 1 << 16

// slotAll stands for the counter of changes that may affect any item.
const slotAll = -1

// ItemVersions counts changes of items for stores that implement [VersionedItems]. The zero value is
// ready for use.
type ItemVersions struct {
	all   changeCounter // changes of unknown items
	slots [versionSlots]changeCounter
}

// changeCounter counts each change twice: in begun before any reader can see it, and in ended when
// all readers see it.
type changeCounter struct{ begun, ended atomic.Uint32 }

// load returns the number of changes that have begun. The result ok is false if one of them is
// under way.
func (c *changeCounter) load() (n uint32, ok bool) {
	ended := c.ended.Load() // read before begun, so that equality means that every change has ended
	n = c.begun.Load()
	return n, n == ended
}

func (v *ItemVersions) counter(slot int) *changeCounter {
	if slot == slotAll {
		return &v.all
	}
	return &v.slots[slot]
}

// Begin counts a change of items, before a reader can see the change. If keys is empty, any item
// may change. The result is the argument of End.
func (v *ItemVersions) Begin(keys []Key) (slots []int) {
	if len(keys) == 0 {
		slots = []int{slotAll}
	}
	for _, k := range keys {
		slots = append(slots, versionSlot(k.PK, k.SK))
	}
	for _, slot := range slots {
		v.counter(slot).begun.Add(1)
	}
	return slots
}

// End counts a change as visible to all readers.
func (v *ItemVersions) End(slots []int) {
	for _, slot := range slots {
		v.counter(slot).ended.Add(1)
	}
}

// ItemVersion implements [VersionedItems].
func (v *ItemVersions) ItemVersion(pk, sk string) (ItemVersion, bool) {
	all, ok1 := v.all.load()
	some, ok2 := v.slots[versionSlot(pk, sk)].load()
	return ItemVersion{all, some}, ok1 && ok2
}

var versionSeed = maphash.MakeSeed()

func versionSlot(pk, sk string) int {
	k := Key{PK: pk, SK: sk[:min(len(sk), VersionedPrefix)]}
	return int(maphash.Comparable(versionSeed, k) % versionSlots)
}
