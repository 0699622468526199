package router

import (
	"math"
	"slices"
	"sync"
	"time"

	"github.com/varvedb/varve/lease"
)

// arrivalClock assigns the arrivals of writes, and knows which arrivals are settled.
//
//	    floor        oldest running write       now
//	──────┼────────────────────┼─────────────────┼──▶
//	      │ settled            │
//
// Arrivals before the oldest running write are settled. If no write runs, all arrivals before now are
// settled. A failed write that lingers counts as running.
//
// No write begins with an arrival before the floor. The floor is the last settled time that Settled has
// returned, or the time of ArriveFrom if that is later. So a clock that is set back does not move arrivals
// before the floor. If the clock is set back by more than lease.MaxClockSkew, the floor is set back, too,
// and a reset is counted.
type arrivalClock struct {
	now func() time.Time

	mu        sync.Mutex
	floor     int64              // the earliest arrival of a new write, in milliseconds since 1970
	last      int64              // the latest arrival of a write, in milliseconds since 1970
	running   map[int64]int      // number of running writes by arrival, in milliseconds since 1970
	lingering []lingeringArrival // arrivals of failed writes, in the order of their ends
	reset     ClockReset
	ended     chan struct{} // closed at the end of the next write; nil if no caller waits
}

// lingeringArrival is the arrival of a failed write that the store may still perform until a time.
type lingeringArrival struct {
	at    int64
	until time.Time
}

// ClockReset describes the last reset: the clock was set back by more than lease.MaxClockSkew.
type ClockReset struct {
	Count int
	At    time.Time // arrivals since the reset are at this time or later
}

func newArrivalClock(now func() time.Time) *arrivalClock {
	return &arrivalClock{now: now, running: map[int64]int{}}
}

// read returns the current time as an arrival that is not settled, in milliseconds since 1970. If the
// clock was set back too far, read resets the floor. The caller has locked mu.
func (c *arrivalClock) read() int64 {
	now := c.now().UnixMilli()
	if c.floor-now > lease.MaxClockSkew.Milliseconds() {
		c.floor = now
		c.reset = ClockReset{Count: c.reset.Count + 1, At: time.UnixMilli(now).UTC()}
	}
	return max(now, c.floor)
}

func (c *arrivalClock) arrival() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.UnixMilli(c.read()).UTC()
}

// begin registers a running write. It returns the arrival of the request, or a later arrival if the
// arrival of the request is settled already.
func (c *arrivalClock) begin(arrived time.Time) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := arrived.UnixMilli()
	if now := c.read(); at < c.floor {
		at = now
	}
	c.running[at]++
	c.last = max(c.last, at)
	return time.UnixMilli(at).UTC()
}

// end removes a running write with an arrival, and wakes the callers that wait for the end of a
// write.
func (c *arrivalClock) end(arrived time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := arrived.UnixMilli()
	if c.running[at]--; c.running[at] == 0 {
		delete(c.running, at)
	}
	if c.ended != nil {
		close(c.ended)
		c.ended = nil
	}
}

// linger leaves an arrival unsettled for a time, although its write has ended.
func (c *arrivalClock) linger(arrived time.Time, d time.Duration) {
	if d <= 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lingering = append(c.lingering, lingeringArrival{arrived.UnixMilli(), c.now().Add(d)})
}

// oldest returns the earliest arrival of the running and the lingering writes, or the given time if that is
// earlier. Both are in milliseconds since 1970. The caller has locked mu.
func (c *arrivalClock) oldest(at int64) int64 {
	for running := range c.running {
		at = min(at, running)
	}
	now := c.now()
	c.lingering = slices.DeleteFunc(c.lingering, func(l lingeringArrival) bool { return !now.Before(l.until) })
	for _, l := range c.lingering {
		at = min(at, l.at)
	}
	return at
}

// Idle reports whether no write is running, and the store can no longer perform a write whose
// caller gave up.
func (r *Router) Idle() bool {
	c := r.arrivals
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.oldest(math.MaxInt64) == math.MaxInt64
}

// Settled returns the settled time. Every write with an earlier arrival has ended, and no later write has
// such an arrival, unless the clock is reset. It also returns the last reset of the clock. The settled time
// can be a millisecond after the clock. If the clock was set back, or after ArriveFrom, the settled time can
// be up to lease.MaxClockSkew after the clock.
func (r *Router) Settled() (time.Time, ClockReset) {
	c := r.arrivals
	c.mu.Lock()
	defer c.mu.Unlock()
	settled := c.read()
	if settled == c.last && settled > c.floor {
		// Settle the arrival of the last write, although the clock still shows it. Otherwise a client
		// would see its own write only a millisecond later. The next write gets a later arrival.
		settled++
	}
	settled = c.oldest(settled)
	c.floor = max(c.floor, settled)
	return time.UnixMilli(settled).UTC(), c.reset
}

// ClockResets returns the number of resets of the clock.
func (r *Router) ClockResets() int {
	r.arrivals.mu.Lock()
	defer r.arrivals.mu.Unlock()
	return r.arrivals.reset.Count
}

// ArriveFrom makes all further writes arrive at the given time or later. An earlier process may have returned
// that time as settled. If the time exceeds the clock by more than lease.MaxClockSkew, the clock is reset
// instead.
func (r *Router) ArriveFrom(t time.Time) {
	r.arrivals.mu.Lock()
	defer r.arrivals.mu.Unlock()
	r.arrivals.floor = max(r.arrivals.floor, t.UnixMilli())
}

// LastArrival returns the latest arrival of past writes and of a write that begins now. It ignores arrivals
// that exceed the clock by more than lease.MaxClockSkew. The result can be later than the clock if the clock
// was set back, or if ArriveFrom set a later time.
func (r *Router) LastArrival() time.Time {
	c := r.arrivals
	c.mu.Lock()
	defer c.mu.Unlock()
	at := c.read()
	if c.last-c.now().UnixMilli() <= lease.MaxClockSkew.Milliseconds() {
		at = max(at, c.last)
	}
	return time.UnixMilli(at).UTC()
}

// WriteEnded returns a channel that is closed at the end of the next write.
func (r *Router) WriteEnded() <-chan struct{} {
	c := r.arrivals
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended == nil {
		c.ended = make(chan struct{})
	}
	return c.ended
}
