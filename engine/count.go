package engine

import (
	"errors"
	"time"

	"github.com/varvedb/varve/store/lease"
)

// countEvery is how often the marks of roll-ups that are due are taken. Roll-ups
// are right at any time: what is due costs reads a little until then.
const countEvery = 5 * time.Minute

// count takes the marks that are due, unless that is under way here or elsewhere.
// Marks that were made while roll-ups were on are taken also when they are off.
func (e *Engine) count(tell func(marks int, took time.Duration, err error)) {
	if !e.counting.TryLock() {
		return
	}
	defer e.counting.Unlock()
	begin := time.Now()
	n, err := e.Counter.Run(e.background)
	if errors.Is(err, lease.ErrHeld) || n == 0 && err == nil {
		return
	}
	tell(n, time.Since(begin), err)
}
