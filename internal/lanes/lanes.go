// Package lanes keeps small writes fast while bulk work uses the processors.
//
// Bulk work is the decoding of large requests, and the flushes and merges of the store. The Go
// scheduler and the kernel serve goroutines and threads in turn. So a small write would wait for
// bulk work several times: to be read, to be synced, and to be answered.
//
// While small writes arrive, large requests leave one processor idle, and all bulk work rests
// about every millisecond: on two processors as long as it computed, on more processors less. If
// no small writes arrive, bulk work uses all processors.
//
// [Lanes] records small writes and limits large requests. A [Pace] belongs to one piece of bulk
// work, and rests.
package lanes

import (
	"context"
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"
)

// recent is the time after a small write during which bulk work rests.
const recent = time.Second

const (
	// slice is the time that bulk work computes before it rests. A shorter one would be lost
	// in the precision of timers.
	slice = time.Millisecond
	// longest limits one rest, because a piece of bulk work may be stopped in between by
	// others.
	longest = 5 * time.Millisecond
)

// Lanes keeps small writes fast. It is safe for concurrent use.
type Lanes struct {
	large *semaphore.Weighted // processors for large requests while small writes arrive
	small atomic.Int64        // arrival of the last small write, in ns since 1970
	now   func() time.Time
}

// New returns lanes with a clock.
func New(now func() time.Time) *Lanes {
	return &Lanes{large: semaphore.NewWeighted(Places()), now: now}
}

// Places returns the number of large requests that compute at a time while small writes arrive.
//
// It is the number of processors less one, but at least 1. It ignores GOMAXPROCS, because a
// store may raise that for threads that wait for the disk.
func Places() int64 { return max(1, int64(runtime.NumCPU()-1)) }

// Small records the arrival of a small write.
func (l *Lanes) Small() { l.small.Store(l.now().UnixNano()) }

// shared reports whether small writes arrive.
func (l *Lanes) shared(now time.Time) bool {
	return now.UnixNano()-l.small.Load() <= int64(recent)
}

// Enter waits for a place of a large request, if small writes arrive. held reports whether it
// got one, which the caller must release with Leave. Enter fails if ctx ends.
func (l *Lanes) Enter(ctx context.Context) (held bool, err error) {
	if !l.shared(l.now()) {
		return false, nil
	}
	if err := l.large.Acquire(ctx, 1); err != nil {
		return false, context.Cause(ctx)
	}
	return true, nil
}

// Leave releases the place of a large request.
func (l *Lanes) Leave() { l.large.Release(1) }

// Pace divides bulk work into computing and resting. Only one goroutine may use it.
type Pace struct {
	lanes *Lanes
	since time.Time     // begin of the current computation
	spent time.Duration // computing time since the last rest
}

// Pace returns the pace of bulk work that begins now.
func (l *Lanes) Pace() *Pace { return &Pace{lanes: l, since: l.now()} }

// Begin continues after a pause in the computation, such as a wait for the client.
func (p *Pace) Begin() { p.since = p.lanes.now() }

// Rest is called during computations, as often as is convenient. If small writes arrive, and
// the work has computed for a millisecond, Rest sleeps for that time divided by Places.
func (p *Pace) Rest() {
	now := p.lanes.now()
	p.spent += now.Sub(p.since)
	p.since = now
	switch {
	case !p.lanes.shared(now):
		p.spent = 0
	case p.spent >= slice:
		time.Sleep(min(p.spent/time.Duration(Places()), longest)) //nolint:forbidigo // it is short, and a context could not end it earlier
		p.since, p.spent = p.lanes.now(), 0
	}
}
