// Package router implements the write path: it validates readings, assigns them to tables and
// returns verdicts.
//
//	Admit ── Request.Write ── judge ── placeReadings ── store.Writer ── verdicts
//	  │                                                   │
//	  too many requests: Busy                             missing table: Create, once
//
// [New] returns a [Router] for [Options]. [Router.Admit] begins a [Request], which has one
// arrival for all its readings. [Request.Write] stores them. A [Turn] gives small requests
// priority on the processors.
//
// These rules always hold:
//
//   - Event time and the arrival month of the request determine the table of a reading.
//   - Each reading gets one verdict. A reading without a verdict may or may not be stored.
//   - Fields are admitted and roll-ups are marked before a reading is written.
//   - The router cannot change or drop a table.
//
// If the registry or the store fails, the affected readings are rejected with a retryable code,
// and the others are stored. A retry is harmless.
package router

import (
	"context"
	"time"

	"golang.org/x/sync/semaphore"
	"golang.org/x/sync/singleflight"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/internal/lanes"
	"github.com/varvedb/varve/retention"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/streams"
)

// DefaultRequestTimeout is the limit of a request that writes readings, if none is
// configured. Servers apply the limit; the router does not know it.
const DefaultRequestTimeout = 15 * time.Minute

// Options hold the dependencies of a router. All fields but the limits and Events are
// required.
type Options struct {
	Writer  store.Writer
	Creator store.Creator
	Streams *streams.Registry
	Policy  *retention.Policy
	Grid    grid.Policy
	Now     func() time.Time
	// Layouts holds the layouts of streams by name. Only RowWindow and Expect are used.
	Layouts map[string]store.Layout
	// Fields limits the fields of a series. If nil, they are not limited.
	Fields Fields
	// Tracker, if not nil, tracks the hours of readings before they are written.
	Tracker Tracker
	// Expire allows the store to delete readings by itself, a grace after they
	// have expired.
	Expire bool
	Grace  time.Duration

	// MaxRequests limits concurrent requests. The router refuses further ones. 0 means 4096.
	MaxRequests int
	// MaxReadings limits the readings in concurrent writes. Further writes wait.
	//
	// A reading of several KiB counts as one reading per KiB. Half of the limit is reserved for
	// small writes, so that the upload of a backlog does not delay fresh readings. 0 means
	// 65,536.
	MaxReadings int
	// Watch receives the readings of a write and their verdicts before the caller does.
	//
	// Readings that are not rejected were stored before now. A conflict comes with the reading
	// that was stored first. Watch may reject readings for now, although they are stored: a
	// retry gets the same verdict. The zero id of a reading means its content id. Watch must not
	// retain the slices. It returns an error only if the context ended. If nil, it is not called.
	Watch  func(ctx context.Context, now time.Time, readings []varve.Reading, verdicts []varve.Verdict) error
	Events Events
}

// Fields limits the number of distinct fields of a series.
type Fields interface {
	// Admit rejects readings without a verdict whose series has too many fields.
	//
	// It also rejects, for now, readings whose series cannot be checked. It fails only if the
	// context ended.
	Admit(ctx context.Context, readings []varve.Reading, verdicts []varve.Verdict) error
}

// Tracker records that roll-ups have to be recomputed, before readings are written.
type Tracker interface {
	// MarkDirty marks the hours of the readings without a verdict, which all arrived at one
	// time. It returns the time until which they may be written. If it fails, none may be.
	MarkDirty(ctx context.Context, arrived time.Time, readings []varve.Reading, verdicts []varve.Verdict) (time.Time, error)
}

// Events holds callbacks. A nil callback is skipped.
type Events struct {
	// TableCreated is called after a missing table was created for a reading.
	TableCreated func(t grid.Table, took time.Duration)
	// Failed is called if readings were rejected for now because a step failed.
	Failed func(step string, err error)
}

const (
	defaultMaxRequests = 4096
	defaultMaxReadings = 65_536
	// unit is the size up to which a reading counts as one.
	unit = 1 << 10
	// smallWrite is the maximum weight of a small write.
	smallWrite = 256
	// busyRetry is the delay after which a client may retry a refused request.
	busyRetry = time.Second
)

// Router writes readings to tables. It is safe for concurrent use.
type Router struct {
	opts     Options
	requests *semaphore.Weighted
	readings *semaphore.Weighted // for all writes
	bulk     *semaphore.Weighted // for writes that are not small
	creating singleflight.Group
	lanes    *lanes.Lanes
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
		lanes:    lanes.New(o.Now),
	}
}

// Request is one request to write, whatever the number of its readings. Its
// arrival is taken once, so that all of them belong to one arrival month.
type Request struct {
	r       *Router
	arrived time.Time
	month   grid.Month
	tables  placer
	streams []streams.Stream // the streams of its readings
}

// Admit begins a request. It fails with Busy if too many requests run. The caller must call
// Done.
func (r *Router) Admit() (*Request, error) {
	if !r.requests.TryAcquire(1) {
		return nil, &varve.Error{Failure: varve.Busy, RetryAfter: busyRetry,
			Message: "too many writes: retry in a second"}
	}
	arrived := r.opts.Now().UTC().Truncate(time.Millisecond)
	return &Request{r: r, arrived: arrived, month: grid.MonthOf(arrived)}, nil
}

// Done ends the request.
func (q *Request) Done() { q.r.requests.Release(1) }

// Arrived returns the arrival of the request.
func (q *Request) Arrived() time.Time { return q.arrived }

// weigh returns the weight of a write, in readings.
func weigh(readings []varve.Reading) int {
	n := 0
	for i := range readings {
		n += max(1, readings[i].SizeAbove(unit)/unit)
	}
	return n
}

// acquire waits until a write of weight n may start, and returns a function that releases its
// room. A write above the limit runs alone.
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
