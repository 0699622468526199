package engine

import (
	"context"
	"errors"
	"time"

	"github.com/varvedb/varve/lease"
)

const (
	// aggregateEvery is the interval between two runs of the aggregator. Roll-ups are exact at
	// any time, but until a run, reads recount the dirty hours.
	aggregateEvery = 5 * time.Minute
	// aggregateFirst limits how long the aggregator runs before tables are dropped.
	aggregateFirst = time.Minute
)

// afterAggregation returns a function that finds the tables or readings that roll-ups still need. The
// function first runs the aggregator for up to aggregateFirst. This processes markers that are already due,
// for which tables or readings would otherwise be retained.
func afterAggregation[T any](
	e *Engine, report func(markers int, took time.Duration, err error), find func(context.Context) (T, error),
) func(context.Context) (T, error) {
	return func(ctx context.Context) (T, error) {
		first, cancel := context.WithTimeout(ctx, aggregateFirst)
		defer cancel()
		e.aggregate(first, report)
		return find(ctx)
	}
}

// aggregate runs the aggregator, unless it runs already, here or in another process. The aggregator
// processes existing markers even if roll-ups are off now.
func (e *Engine) aggregate(ctx context.Context, report func(markers int, took time.Duration, err error)) {
	if !e.aggregating.TryLock() {
		return
	}
	defer e.aggregating.Unlock()
	begin := time.Now()
	n, err := e.Aggregator.Run(ctx)
	if errors.Is(err, lease.ErrHeld) || n == 0 && err == nil {
		return
	}
	report(n, time.Since(begin), err)
}
