// Package router implements the write path: it validates readings, assigns them to tables and
// returns verdicts.
//
//	Admit ── Request.Write ── judge ── placeReadings ── store.Writer ── verdicts
//	  │                                                   │
//	  too many requests: Busy                             missing table: Create, then retry
//
// The main types:
//
//   - [Router] writes readings to tables. [New] returns one for its [Options].
//   - [Request] is one request. [Request.Write] stores readings, all with the same arrival.
//   - [Turn] gives small requests priority on the processors.
//   - [Fields], [Tracker] and [Changes] are called before readings are written. If the options lack
//     one of them, its step is omitted.
//
// These rules always hold:
//
//   - Event time and the arrival month of the request determine the table of a reading.
//   - Each reading gets one verdict, unless the context of the write ends. A reading without a
//     verdict may or may not be stored.
//   - Before a reading is written, Fields admits its fields, and Tracker marks its hour dirty.
//   - The router cannot change or drop a table.
//
// If the registry or the store fails, the affected readings are rejected with a retryable code, and
// the others are stored. A client can safely resend the rejected readings, also after a crash. A
// Router is safe for concurrent use. Only one goroutine may use a Turn.
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

// DefaultRequestTimeout is the default time limit of a request that writes readings. Servers
// enforce the limit; the router does not.
const DefaultRequestTimeout = 15 * time.Minute

// Options configure a router. All fields are required except Layouts, Fields, Tracker, Changes,
// Linger, Expire, Grace, Watch, Events and the limits.
type Options struct {
	Writer  store.Writer
	Creator store.Creator
	Streams *streams.Registry
	Policy  *retention.Policy
	Grid    grid.Policy
	Now     func() time.Time
	// Layouts has the layouts of streams by name. The router sets Shards itself, and DeleteAfter if
	// Expire is set.
	Layouts map[string]store.Layout
	// Fields limits the number of fields of a series. If nil, the number is not limited.
	Fields Fields
	// Tracker, if not nil, records the hours of readings before they are written.
	Tracker Tracker
	// Changes, if not nil, records the arrival of readings before they are written.
	Changes Changes
	// Linger is how long the arrival of a failed write stays unsettled. The store may still perform a
	// write whose caller gave up. 0 means not at all.
	Linger time.Duration
	// Expire allows the store to delete readings on its own, after they have expired and Grace has passed.
	// With a Tracker, at least ExpireGrace must have passed.
	Expire bool
	Grace  time.Duration

	// MaxRequests limits the number of concurrent requests. The router refuses requests above it.
	// 0 means 4096.
	MaxRequests int
	// MaxReadings limits the number of readings in concurrent writes. Further writes wait.
	//
	// A reading of several KiB counts as one reading per KiB. Half of the limit is reserved for
	// small writes, so that the upload of a backlog does not delay new readings. 0 means 65,536.
	MaxReadings int
	// Watch receives the readings of a write and their verdicts before the caller does.
	//
	// Readings that are not rejected are stored already, and the argument "now" is a time after that.
	// The verdict of a conflict has the fields of the reading that was stored first, unless they
	// are large. Watch may reject stored readings with a retryable code, so that the client retries
	// them. The zero id of a reading means its content id. Watch must not retain the slices. It
	// returns an error only if the context ended. If nil, it is not called.
	Watch  func(ctx context.Context, now time.Time, readings []varve.Reading, verdicts []varve.Verdict) error
	Events Events
}

// Fields limits the number of distinct fields of a series.
type Fields interface {
	// Admit rejects readings without a verdict whose series would have too many fields.
	//
	// If it cannot check a series, it rejects the readings of the series with a retryable code.
	// It fails only if the context ended.
	Admit(ctx context.Context, readings []varve.Reading, verdicts []varve.Verdict) error
}

// Tracker records which roll-ups must be recomputed. It does so before readings are written.
type Tracker interface {
	// MarkDirty marks the hours of the readings without a verdict as dirty. All readings have the
	// same arrival. It returns the time until which the readings may be written. If it fails, no
	// reading may be written.
	MarkDirty(ctx context.Context, arrived time.Time, readings []varve.Reading, verdicts []varve.Verdict) (time.Time, error)
}

// Changes records the arrivals of series. It does so before readings are written.
type Changes interface {
	// MarkChanges records the arrival of the readings without a verdict. It returns the time until which
	// the readings may be written; the zero time means no limit. If it fails, no reading may be written.
	MarkChanges(ctx context.Context, arrived time.Time, readings []varve.Reading, verdicts []varve.Verdict) (time.Time, error)
}

// Events has callbacks. A nil callback is skipped.
type Events struct {
	// TableCreated is called after the router has created a missing table.
	TableCreated func(t grid.Table, took time.Duration)
	// Failed is called if readings were rejected with a retryable code because an action failed.
	// The argument "step" names the action.
	Failed func(step string, err error)
}

const (
	defaultMaxRequests = 4096
	defaultMaxReadings = 65_536
	// unit is the size in bytes that counts as one reading. A larger reading counts as one per full
	// unit.
	unit = 1 << 10
	// smallWrite is the maximum weight of a small write.
	smallWrite = 256
	// busyRetry is the time after which a client may repeat a refused request.
	busyRetry = time.Second
)

// Router writes readings to tables. It is safe for concurrent use.
type Router struct {
	opts     Options
	requests *semaphore.Weighted
	readings *semaphore.Weighted // room for all writes
	bulk     *semaphore.Weighted // room for writes that are not small
	creating singleflight.Group
	arrivals *arrivalClock
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
		arrivals: newArrivalClock(o.Now),
	}
}

// Request is one request to write readings. All its readings have the same arrival. The exception
// is a request of several writes: if its arrival is settled before a write, that write gets a later
// arrival.
type Request struct {
	r       *Router
	arrived time.Time
	month   grid.Month
	tables  *placer
	streams []streams.Stream // registered streams of the current write, each once
	unknown bool             // whether the store may perform a part of the current write later
}

// Admit begins a request. It fails with Busy if too many requests are running. The caller must
// call Done.
func (r *Router) Admit() (*Request, error) {
	if !r.requests.TryAcquire(1) {
		return nil, &varve.Error{Failure: varve.Busy, RetryAfter: busyRetry,
			Message: "too many writes: retry in a second"}
	}
	arrived := r.arrivals.arrival()
	return &Request{r: r, arrived: arrived, month: grid.MonthOf(arrived), tables: placers.Get()}, nil
}

// Done ends the request. The caller must not use the request afterward.
func (q *Request) Done() {
	q.tables.release()
	q.tables = nil
	q.r.requests.Release(1)
}

// Arrived returns the arrival of the request.
func (q *Request) Arrived() time.Time { return q.arrived }

// weigh returns the weight of a write: the number of its readings, where a reading of several units
// counts as several readings.
func weigh(readings []varve.Reading) int {
	n := 0
	for i := range readings {
		n += max(1, readings[i].SizeAbove(unit)/unit)
	}
	return n
}

// acquire waits until a write of weight n may start. It returns a function that frees the room of
// the write. If n is at least half of MaxReadings, no other large write runs at the same time.
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
