package engine

import (
	"context"
	"errors"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/lease"
	"time"
)

// countFirst is how long what is due may be counted before tables are dropped.
const countFirst = time.Minute

// needed returns what tells which tables are needed for roll-ups. What is due is
// counted first: no table need stay for that.
func (e *Engine) needed(tell func(marks int, took time.Duration, err error)) func(context.Context) (func(t grid.Table, retired time.Time) string, error) {
	return func(ctx context.Context) (func(t grid.Table, retired time.Time) string, error) {
		first, cancel := context.WithTimeout(ctx, countFirst)
		defer cancel()
		e.count(first, tell)
		return e.Counter.Needed(ctx)
	}
}

// countEvery is how often the marks of roll-ups that are due are taken. Roll-ups
// are right at any time: what is due costs reads a little until then.
const countEvery = 5 * time.Minute

// count takes the marks that are due, unless that is under way here or elsewhere.
// Marks that were made while roll-ups were on are taken also when they are off.
func (e *Engine) count(ctx context.Context, tell func(marks int, took time.Duration, err error)) {
	if !e.counting.TryLock() {
		return
	}
	defer e.counting.Unlock()
	begin := time.Now()
	n, err := e.Counter.Run(ctx)
	if errors.Is(err, lease.ErrHeld) || n == 0 && err == nil {
		return
	}
	tell(n, time.Since(begin), err)
}
