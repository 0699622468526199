package local

import (
	"hash/maphash"
	"sync"

	"github.com/varvedb/varve/store"
)

// itemLocks makes the check of conditions and the write of items one atomic operation.
type itemLocks struct {
	slots [itemSlots]itemLock
}

const itemSlots = 64

// itemLock guards the items of one slot.
type itemLock struct {
	sync.Mutex
	open *change // the last change, if its outcome is open
}

// heldItems is the set of slots that a writer has locked.
type heldItems [itemSlots]bool

var itemSeed = maphash.MakeSeed()

func itemSlot(k store.Key) int { return int(maphash.Comparable(itemSeed, k) % itemSlots) }

// lock locks the items of the keys in a fixed order.
func (l *itemLocks) lock(keys []store.Key) (held heldItems) {
	for _, k := range keys {
		held[itemSlot(k)] = true
	}
	for i := range held {
		if held[i] {
			l.slots[i].Lock()
		}
	}
	return held
}

func (l *itemLocks) unlock(held heldItems) {
	for i := range held {
		if held[i] {
			l.slots[i].Unlock()
		}
	}
}
