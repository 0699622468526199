package engine

import (
	"context"
	"github.com/varvedb/varve/store"
	"time"
)

// repairEvery is the delay between attempts to compare the registry with the tables.
const repairEvery = time.Minute

// repairStreams restores streams that occur in tables but not in the registry, for example after a
// backup was restored. It retries in the background until it succeeds.
func (e *Engine) repairStreams(ctx context.Context, repaired func(int, error)) {
	tables, ok := e.Store.(store.LayoutReader)
	if !ok || e.repairOnce(ctx, tables, repaired) {
		return
	}
	e.retries.Go(func() {
		for {
			timer := time.NewTimer(repairEvery)
			select {
			case <-e.background.Done():
				timer.Stop()
				return
			case <-timer.C:
			}
			if e.repairOnce(e.background, tables, repaired) {
				return
			}
		}
	})
}

// repairOnce compares the registry with the tables once, and adds missing data to the registry. It
// reports whether this succeeded.
func (e *Engine) repairOnce(ctx context.Context, tables store.LayoutReader, repaired func(int, error)) bool {
	found, err := tables.StreamLayouts(ctx)
	if err == nil {
		plan, perr := e.Streams.PlanRepairs(ctx, found)
		if err = perr; err == nil {
			err = e.Streams.Apply(ctx, plan)
		}
		if err == nil && len(plan) > 0 {
			repaired(len(plan), nil)
		}
	}
	if err != nil && e.background.Err() == nil {
		repaired(0, err)
	}
	return err == nil
}
