package engine

import (
	"context"
	"errors"
	"time"

	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/lease"
)

const (
	// aggregateEvery is the interval between two runs of the aggregator. Roll-ups are exact at
	// any time, but until a run, reads recount the dirty hours.
	aggregateEvery = 5 * time.Minute
	// aggregateFirst bounds the run of the aggregator before tables are dropped.
	aggregateFirst = time.Minute
)

// tablesInUse returns a function that finds the tables which roll-ups still need. The function
// runs the aggregator first, so that tables are not retained for markers that are already due.
func (e *Engine) tablesInUse(report func(markers int, took time.Duration, err error)) func(context.Context) (func(t grid.Table, retired time.Time) string, error) {
	return func(ctx context.Context) (func(t grid.Table, retired time.Time) string, error) {
		first, cancel := context.WithTimeout(ctx, aggregateFirst)
		defer cancel()
		e.aggregate(first, report)
		return e.Aggregator.TablesInUse(ctx)
	}
}

// aggregate runs the aggregator, unless it runs already, here or in another process. It processes
// earlier markers even if roll-ups are off now.
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
