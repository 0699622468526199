package engine

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/varvedb/varve/lease"
	"github.com/varvedb/varve/store"
)

// scaleLease is the name of the lease of the process that scales tables. scaleTTL is its lifetime.
// The process acquires the lease every minute. If two processes scale at the same time, they make the
// same changes.
const (
	scaleLease = "capacity"
	scaleTTL   = 2 * time.Minute
)

// scaleTables returns a function that reports the use of tables by this process, and scales tables
// if this process holds the lease. The function runs every minute.
func (e *Engine) scaleTables(scaler store.Scaler, events Events) func() {
	leases := &lease.Manager{Items: e.Store, Now: e.Now, Holder: e.Holder, TTL: scaleTTL}
	var running sync.Mutex
	return func() {
		if !running.TryLock() {
			return // the previous run still waits for DynamoDB
		}
		defer running.Unlock()
		err := scaleOnce(e.background, scaler, leases, events.Scaled)
		if err != nil && events.Failed != nil && e.background.Err() == nil {
			events.Failed("capacity of tables", err)
		}
	}
}

func scaleOnce(ctx context.Context, scaler store.Scaler, leases *lease.Manager, scaled func(store.CapacityChange)) error {
	if scales, err := scaler.ReportUse(ctx); err != nil || !scales {
		return err
	}
	_, err := leases.Acquire(ctx, scaleLease)
	if errors.Is(err, lease.ErrHeld) {
		return nil
	}
	if err != nil {
		return err
	}
	changes, err := scaler.Scale(ctx)
	if scaled != nil {
		for _, c := range changes {
			scaled(c)
		}
	}
	return err
}
