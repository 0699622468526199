package engine

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/varvedb/varve/changes"
	"github.com/varvedb/varve/router"
)

// trackChanges adds the tracker of changes by arrival to the options of the router, if changes are
// recorded.
func (e *Engine) trackChanges(o Options, routing *router.Options) {
	if o.Indexed == nil {
		return
	}
	policy := o.Rotation.Retention
	e.tracker = changes.NewTracker(changes.Options{
		Items: o.Store, Indexed: o.Indexed, Shared: o.Shared, Admit: func(ctx context.Context, arrived time.Time) (time.Time, error) {
			if e.Cluster != nil {
				return e.Cluster.Admit(ctx, arrived)
			}
			return e.horizon.Admit(ctx, arrived)
		},
		Retention: func(stream string) time.Duration { return policy.RetentionOf(stream, policy.ClassOf(stream).Name) },
	})
	e.Streams.OnCreate(e.tracker.StreamCreated)
	if routing.Changes = e.tracker; o.Shared {
		routing.Linger = changes.Linger
	}
}

// openChanges opens the index by arrival, before the first reading arrives. If the store fails, the
// first write opens the index.
func (e *Engine) openChanges(ctx context.Context, o Options) {
	if e.tracker == nil {
		return
	}
	var err error
	var settled changes.Settled
	if o.Shared {
		e.Cluster = changes.NewCluster(changes.ClusterOptions{Items: o.Store, Router: e.Router, Now: o.Now, Holder: o.Holder, Limit: o.RequestTimeout})
		if settled = e.Cluster; o.IndexesAny {
			err = e.Cluster.Renew(ctx)
		}
	} else {
		e.horizon = changes.NewHorizon(reserveOf(o.Store), e.Router, e.tracker, o.Now)
		settled, err = e.horizon, e.horizon.Open(ctx)
	}
	if err != nil && o.Events.Failed != nil {
		o.Events.Failed("open the index by arrival", err)
	}
	e.Changes = changes.NewReader(changes.ReaderOptions{
		Items: o.Store, Source: e.Query, Settled: settled, Tracker: e.tracker, Now: o.Now, Ended: e.Router.WriteEnded, LastArrival: e.Router.LastArrival, Alone: !o.Shared,
	})
}

// renewArrivals returns a function that stores the arrival of the oldest running write of this
// process. It also rereads the records about indexes and the devices that polls use. The function runs
// every few seconds.
func renewArrivals(e *Engine, failed func(task string, err error)) func() {
	var running sync.Mutex
	return func() {
		if !running.TryLock() {
			return // the previous run still waits for the store
		}
		defer running.Unlock()
		ctx, cancel := context.WithTimeout(e.background, renewTimeout)
		defer cancel()
		err := e.Cluster.Renew(ctx)
		if err == nil {
			err = errors.Join(e.Changes.Refresh(ctx), e.Devices.RefreshExisting(ctx))
		}
		if err != nil && failed != nil && e.background.Err() == nil {
			failed("record the oldest arrival", err)
		}
	}
}

// renewTimeout limits one renewal, so that the next one can succeed before the process loses its
// lease.
const renewTimeout = 15 * time.Second

func (e *Engine) closeChanges(ctx context.Context) error {
	if e.Cluster != nil {
		return e.Cluster.Close(ctx)
	}
	if e.horizon == nil {
		return nil
	}
	return e.horizon.Close(ctx)
}
