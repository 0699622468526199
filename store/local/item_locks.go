package local

import (
	"hash/maphash"
	"sync"

	"github.com/varvedb/varve/store"
)

// itemLocks makes the check of conditions and the write of items one atomic operation.
type itemLocks struct {
	stripes [itemStripes]itemLock
}

const itemStripes = 64

// itemLock guards the items of one stripe: all keys for which itemStripe returns the same number.
type itemLock struct {
	sync.Mutex
	open *change // the last change, if its outcome is open; otherwise nil
}

// heldItems is the set of stripes that a writer has locked.
type heldItems [itemStripes]bool

var itemSeed = maphash.MakeSeed()

func itemStripe(k store.Key) int { return int(maphash.Comparable(itemSeed, k) % itemStripes) }

// lock locks the items of the keys in a fixed order.
func (l *itemLocks) lock(keys []store.Key) (held heldItems) {
	for _, k := range keys {
		held[itemStripe(k)] = true
	}
	for i := range held {
		if held[i] {
			l.stripes[i].Lock()
		}
	}
	return held
}

func (l *itemLocks) unlock(held heldItems) {
	for i := range held {
		if held[i] {
			l.stripes[i].Unlock()
		}
	}
}
