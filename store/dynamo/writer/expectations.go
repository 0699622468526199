package writer

import (
	"github.com/varvedb/varve"
	"github.com/varvedb/varve/internal/cache"
	"github.com/varvedb/varve/store"
)

// maxExpectations is the largest number of remembered series.
const maxExpectations = 100_000

const (
	// existBalance is the lowest balance with which rows are expected to exist.
	existBalance = 4
	// maxBalance is the highest balance. Three missing rows, one after another, are enough to change
	// the expectation, even after many existing rows.
	maxBalance = 6
)

// expectations predicts for each series whether a row exists before the first request for the row. The
// balance of a series is the number of open rows that were found minus the number of missing rows. It
// stays between 0 and maxBalance.
type expectations struct {
	balances *cache.Cache[varve.Series, int]
}

func newExpectations() expectations {
	return expectations{cache.New[varve.Series, int](cache.Limits{Entries: maxExpectations})}
}

// exist reports whether the rows of a series are expected to exist.
func (x *expectations) exist(s varve.Series, e store.Expect) bool {
	if e != store.ExpectAuto {
		return e == store.ExpectExisting
	}
	balance, _ := x.balances.Get(s)
	return balance >= existBalance
}

// learn changes the balance of a series by one, depending on whether a row existed.
func (x *expectations) learn(s varve.Series, exists bool) {
	if _, known := x.balances.Get(s); !exists && !known {
		return // without a balance, rows are expected to be missing already
	}
	x.balances.Update(s, func(balance int) (int, bool) {
		if exists {
			return min(balance+1, maxBalance), true
		}
		return balance - 1, balance > 1
	})
}
