package alerts

import (
	"hash/maphash"
	"sync"

	"github.com/varvedb/varve"
)

// seriesLocks serializes the evaluations of a series in this process.
type seriesLocks struct {
	locks [256]sync.Mutex
}

var seriesSeed = maphash.MakeSeed()

func (l *seriesLocks) of(s varve.Series) *sync.Mutex {
	return &l.locks[maphash.Comparable(seriesSeed, s)%uint64(len(l.locks))]
}
