package engine

import (
	"context"
	"github.com/varvedb/varve/store"
	"time"
)

// mendEvery is the delay between attempts to compare the registry with the tables.
const mendEvery = time.Minute

// mendStreams restores streams that occur in tables but not in the registry, for example after a
// backup was restored. It retries in the background until it succeeds.
func (e *Engine) mendStreams(ctx context.Context, mended func(int, error)) {
	tables, ok := e.Store.(store.LayoutReader)
	if !ok || e.mendOnce(ctx, tables, mended) {
		return
	}
	e.retries.Go(func() {
		for {
			timer := time.NewTimer(mendEvery)
			select {
			case <-e.background.Done():
				timer.Stop()
				return
			case <-timer.C:
			}
			if e.mendOnce(e.background, tables, mended) {
				return
			}
		}
	})
}

// mendOnce compares the registry with the tables once, and adds missing data to the registry. It
// reports whether this succeeded.
func (e *Engine) mendOnce(ctx context.Context, tables store.LayoutReader, mended func(int, error)) bool {
	found, err := tables.StreamLayouts(ctx)
	if err == nil {
		plan, perr := e.Streams.PlanRepairs(ctx, found)
		if err = perr; err == nil {
			err = e.Streams.Apply(ctx, plan)
		}
		if err == nil && len(plan) > 0 {
			mended(len(plan), nil)
		}
	}
	if err != nil && e.background.Err() == nil {
		mended(0, err)
	}
	return err == nil
}
