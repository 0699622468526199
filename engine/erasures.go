package engine

import (
	"context"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/erasures"
	"github.com/varvedb/varve/lease"
	"github.com/varvedb/varve/store"
)

// wireErasures creates the eraser. The argument "future" is how far an event time may lie after its
// arrival.
func (e *Engine) wireErasures(o Options, future time.Duration) {
	settle := max(o.RequestTimeout, o.Store.ErasureDelay())
	if _, shared := o.Store.(store.Versioned); shared { // other processes write, and their clocks differ
		settle = max(o.RequestTimeout+lease.MaxClockSkew, o.Store.ErasureDelay())
	}
	e.erasures.failed = o.Events.Failed
	e.Erasures = erasures.New(erasures.Options{
		Store: o.Store, Items: reserveOf(o.Store), Streams: e.Streams, Devices: e.Devices, Rejects: e.Rejects,
		Rollups: e.Aggregator, Archiver: e.Archiver, Layouts: o.Layouts,
		Forget: func(s varve.Series) {
			e.Alerts.ForgetSamples(s)
			e.fields.Forget(s)
		},
		Alone: func(do func() error) error {
			e.aggregating.Lock()
			defer e.aggregating.Unlock()
			return do()
		},
		AloneWithArchives: aloneWithArchives(e),
		Now:               o.Now, LastArrival: e.Router.LastArrival, Holder: o.Holder, Settle: settle, Changed: o.Events.Erasure, Future: future,
	})
}

// erasing is the state of the background job that works on erasures.
type erasing struct {
	running chan struct{} // has one element while the job runs
	failed  func(task string, err error)
}

const (
	// eraseEvery is the interval at which a process looks for erasures.
	eraseEvery = time.Minute
	// leastWait is the shortest pause between two passes of an erasure.
	leastWait = 50 * time.Millisecond
)

// BeginErasure begins the erasure of a target, and starts to work on it. The digest identifies the plan of
// the erasure. BeginErasure fails if the data has changed since the plan.
func (e *Engine) BeginErasure(ctx context.Context, t erasures.Target, digest, by string) (erasures.Record, error) {
	if err := e.background.Err(); err != nil {
		return erasures.Record{}, varve.Errorf(varve.Unavailable, "the server is stopping: retry later")
	}
	r, err := e.Erasures.Begin(ctx, t, digest, by)
	if err == nil {
		e.retries.Go(e.workOnErasures)
	}
	return r, err
}

// workOnErasures continues the erasures that are due now or soon.
func (e *Engine) workOnErasures() {
	select {
	case e.erasures.running <- struct{}{}:
	default:
		return
	}
	defer func() { <-e.erasures.running }()
	for e.background.Err() == nil {
		next, err := e.Erasures.Run(e.background)
		if err != nil && e.background.Err() == nil && e.erasures.failed != nil {
			e.erasures.failed("erasures", err)
		}
		if err != nil || next.IsZero() {
			return
		}
		wait := next.Sub(e.Now())
		if wait > eraseEvery {
			return
		}
		timer := time.NewTimer(max(wait, leastWait))
		select {
		case <-e.background.Done():
		case <-timer.C:
		}
		timer.Stop()
	}
}
