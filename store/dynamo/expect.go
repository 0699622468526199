package dynamo

import (
	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
	"sync"
)

// expectationsMost bounds for how many series is remembered what their rows
// were like.
const expectationsMost = 100_000

const (
	// sure is from which balance on rows are expected to be there.
	sure = 4
	// surest is the largest balance: so a few missing rows change nothing, and more
	// do.
	surest = 6
)

// expectations are what the rows of series were found to be last: how much more
// often, lately, a reading met a row that was there and had room than none.
type expectations struct {
	mu    sync.RWMutex
	there map[varve.Series]int
}

// existing reports whether a series' rows are expected to be there.
func (x *expectations) existing(s varve.Series, e store.Expect) bool {
	if e != store.ExpectAuto {
		return e == store.ExpectExisting
	}
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.there[s] >= sure
}

// learn notes what was found.
func (x *expectations) learn(s varve.Series, there bool) {
	if !there && !x.any(s) {
		return // as with most: there is nothing to take back
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	n := x.there[s]
	switch {
	case !there && n <= 1:
		delete(x.there, s)
	case !there:
		x.there[s] = n - 1
	case x.there == nil, n == 0 && len(x.there) >= expectationsMost:
		x.there = map[varve.Series]int{s: 1}
	default:
		x.there[s] = min(n+1, surest)
	}
}

// any reports whether a series' rows were found to be there at all.
func (x *expectations) any(s varve.Series) bool {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.there[s] > 0
}
