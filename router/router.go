// Package router is the only way in for readings: it judges each one, finds
// its table by event time and by the month of the request's arrival, writes
// table by table, makes a table that is missing, and returns a verdict for
// every reading.
//
//	Admit ── Request.Write ── judge ── place ── store.Writer ── verdicts
//	  │                                            │
//	  too much at once: Busy                       a table is missing: Create, once
//
// It has no way to change or drop a table.
package router

import (
	"context"
	"time"

	"golang.org/x/sync/semaphore"
	"golang.org/x/sync/singleflight"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/retention"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/streams"
)

// DefaultRequestTimeout is the limit of a request that writes readings, if none is
// configured. Servers apply the limit; the router does not know it.
const DefaultRequestTimeout = 15 * time.Minute

// Options are what a router works with. All fields but the limits and Events
// are required.
type Options struct {
	Writer  store.Writer
	Creator store.Creator
	Streams *streams.Registry
	Policy  *retention.Policy
	Grid    grid.Policy
	Now     func() time.Time
	// Layouts are those of streams by name that have one of their own: only
	// RowWindow and Expect of each. Nil is none.
	Layouts map[string]store.Layout
	// Fields bounds the fields of series; nil: nobody does.
	Fields Fields
	// Tracker, if not nil, tracks the hours of readings before they are written.
	Tracker Tracker
	// Expire allows the store to delete readings by itself, a grace after they
	// have expired.
	Expire bool
	Grace  time.Duration

	// MaxRequests is how many requests may be under way; one more is refused.
	// 0 is 4096.
	MaxRequests int
	// MaxReadings is how many readings may be on their way into the store;
	// more wait. One of more than a KiB counts as one for each. Half of it is
	// kept for small writes, so that a backlog that is being uploaded does not
	// hold up fresh readings. 0 is 65,536.
	MaxReadings int
	// Watch, if not nil, is told of the readings of a write before its verdicts
	// are handed out; those not Rejected are stored, since now, and for each
	// conflict, the reading that was first. It may reject some for now: they are
	// stored all the same, and have the same verdict when they are sent again. It keeps no reference to them. An error is that of an ended context.
	Watch  func(ctx context.Context, now time.Time, readings []varve.Reading, verdicts []varve.Verdict) error
	Events Events
}

// Fields bounds how many different fields a series has.
type Fields interface {
	// Admit rejects those of the readings without a verdict that have too many, or
	// of whose fields it cannot say for now. It fails only if the context ended.
	Admit(ctx context.Context, readings []varve.Reading, verdicts []varve.Verdict) error
}

// Tracker records that roll-ups have to be recomputed, before readings are written.
type Tracker interface {
	// MarkDirty marks the hours of the readings without a verdict, which all arrived at one
	// time. It returns the time until which they may be written. If it fails, none may be.
	MarkDirty(ctx context.Context, arrived time.Time, readings []varve.Reading, verdicts []varve.Verdict) (time.Time, error)
}

// Events are called as things happen. Nil ones are skipped.
type Events struct {
	// TableCreated: a table was missing when a reading came for it.
	TableCreated func(t grid.Table, took time.Duration)
	// Failed: readings were rejected, to be sent again, because a step failed.
	Failed func(step string, err error)
}

const (
	defaultMaxRequests = 4096
	defaultMaxReadings = 65_536
	// unit is up to which size a reading counts as one.
	unit = 1 << 10
	// smallWrite is up to how many readings a write counts as small.
	smallWrite = 256
	// busyRetry is when a refused request should be sent again.
	busyRetry = time.Second
)

// Router routes readings. It is safe for concurrent use.
type Router struct {
	opts     Options
	requests *semaphore.Weighted
	readings *semaphore.Weighted // of all writes
	bulk     *semaphore.Weighted // of those that are not small
	creating singleflight.Group
	lanes    *lanes
}

// New returns a router.
func New(o Options) *Router {
	if o.MaxRequests == 0 {
		o.MaxRequests = defaultMaxRequests
	}
	if o.MaxReadings == 0 {
		o.MaxReadings = defaultMaxReadings
	}
	if o.Events.TableCreated == nil {
		o.Events.TableCreated = func(grid.Table, time.Duration) {}
	}
	if o.Events.Failed == nil {
		o.Events.Failed = func(string, error) {}
	}
	return &Router{
		opts:     o,
		requests: semaphore.NewWeighted(int64(o.MaxRequests)),
		readings: semaphore.NewWeighted(int64(o.MaxReadings)),
		bulk:     semaphore.NewWeighted(int64(o.MaxReadings) / 2),
		lanes:    newLanes(o.Now),
	}
}

// Request is one request to write, whatever the number of its readings. Its
// arrival is taken once, so that all of them belong to one arrival month.
type Request struct {
	r       *Router
	arrived time.Time
	month   grid.Month
	tables  placer
	streams []streams.Stream // those of its readings
}

// Admit begins a request. It fails with Busy if too many are under way; nothing
// of such a request has been looked at. The caller calls Done.
func (r *Router) Admit() (*Request, error) {
	if !r.requests.TryAcquire(1) {
		return nil, &varve.Error{Failure: varve.Busy, RetryAfter: busyRetry,
			Message: "too many writes are under way: send it again after a second"}
	}
	arrived := r.opts.Now().UTC().Truncate(time.Millisecond)
	return &Request{r: r, arrived: arrived, month: grid.MonthOf(arrived)}, nil
}

// Done ends the request.
func (q *Request) Done() { q.r.requests.Release(1) }

// Arrived returns when the request arrived.
func (q *Request) Arrived() time.Time { return q.arrived }

// weigh returns as how many readings a write counts.
func weigh(readings []varve.Reading) int {
	n := 0
	for i := range readings {
		n += max(1, readings[i].Size()/unit)
	}
	return n
}

// acquire waits until a write that counts as n readings may be on its way, and
// returns what gives its room back. A write that is beyond the limit is alone.
func (r *Router) acquire(ctx context.Context, n int) (release func(), err error) {
	weight := min(int64(n), int64(r.opts.MaxReadings)/2)
	if n > smallWrite {
		if err := r.bulk.Acquire(ctx, weight); err != nil {
			return nil, context.Cause(ctx)
		}
	}
	if err := r.readings.Acquire(ctx, weight); err != nil {
		if n > smallWrite {
			r.bulk.Release(weight)
		}
		return nil, context.Cause(ctx)
	}
	return func() {
		r.readings.Release(weight)
		if n > smallWrite {
			r.bulk.Release(weight)
		}
	}, nil
}
