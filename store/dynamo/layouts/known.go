package layouts

import (
	"sync"

	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/dynamo/row"
)

// maxKnown is the largest number of remembered stream rows.
const maxKnown = 100_000

type streamIn struct {
	table          grid.Table
	tenant, stream string
}

// knownRows remembers stream rows, so that most writes need no request for them. It also counts
// the stream rows of each table. A remembered row is always valid, because stream rows only
// become wider.
type knownRows struct {
	mu   sync.RWMutex
	rows map[streamIn]*row.Stream
	// remembered has, for each table, the number of its entries in the map "rows"; "found" has the
	// number of stream rows that the last read of each table returned.
	remembered, found map[grid.Table]int
}

func (k *knownRows) covers(at streamIn, device string, layout store.Layout) bool {
	k.mu.RLock()
	defer k.mu.RUnlock()
	s := k.rows[at]
	return s != nil && s.Covers(device, layout)
}

func (k *knownRows) put(at streamIn, s *row.Stream) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.rows == nil || len(k.rows) >= maxKnown {
		k.rows, k.remembered = map[streamIn]*row.Stream{}, map[grid.Table]int{}
	}
	if k.rows[at] == nil {
		k.remembered[at.table]++
	}
	k.rows[at] = s
}

func (k *knownRows) setCount(t grid.Table, n int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.found == nil {
		k.found = map[grid.Table]int{}
	}
	k.found[t] = n
}

func (k *knownRows) count(t grid.Table) int64 {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return int64(max(k.remembered[t], k.found[t]))
}

func (k *knownRows) drop(t grid.Table) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for at := range k.rows {
		if at.table == t {
			delete(k.rows, at)
		}
	}
	delete(k.remembered, t)
	delete(k.found, t)
}
