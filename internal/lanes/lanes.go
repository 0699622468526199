// Package lanes makes bulk work rest, so that small writes stay fast.
//
// Bulk work is the decoding of large requests, and the flushes and compactions of the store. The Go
// scheduler and the kernel serve goroutines and threads in turn. So a small write would wait for
// bulk work several times: to be read, to be synced, and to be answered.
//
// The main types and functions:
//
//   - [Lanes] records small writes, and limits the large requests that compute at a time.
//   - [Pace] belongs to one task of bulk work, and makes it rest.
//   - [Slots] returns the number of large requests that may compute beside small writes.
//
// These rules always hold:
//
//   - For a second after each small write, large requests leave one of several processors idle.
//     Meanwhile, all bulk work rests after each millisecond of computing.
//   - On one or two processors, a rest is as long as the computing before it, but at most 5 ms. On
//     more processors, it is shorter.
//   - If no small writes arrive, bulk work uses all processors without rests.
//
// Only [Lanes.Enter] can fail: it returns the cause if its context ends first, and then holds no
// slot. Lanes is safe for concurrent use. Only one goroutine may use a Pace.
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
	// slice is the time that bulk work computes before it rests. Timers are not precise enough
	// for a shorter time.
	slice = time.Millisecond
	// longest limits one rest. The measured computing time may include time in which the
	// operating system ran other threads.
	longest = 5 * time.Millisecond
)

// Lanes limits bulk work while small writes arrive. It is safe for concurrent use.
type Lanes struct {
	large *semaphore.Weighted // limits the large requests that compute while small writes arrive
	small atomic.Int64        // arrival of the last small write, in ns since 1970
	now   func() time.Time
}

// New returns Lanes that use the function "now" as their clock.
func New(now func() time.Time) *Lanes {
	return &Lanes{large: semaphore.NewWeighted(Slots()), now: now}
}

// Slots returns the number of large requests that may compute at the same time while small
// writes arrive.
//
// It is the number of processors minus one, but at least 1. It ignores GOMAXPROCS, because a
// store may raise that value for threads that wait for the disk.
func Slots() int64 { return max(1, int64(runtime.NumCPU()-1)) }

// Small records the arrival of a small write.
func (l *Lanes) Small() { l.small.Store(l.now().UnixNano()) }

// shared reports whether bulk work must share the processors, because a small write arrived within the last
// second.
func (l *Lanes) shared(now time.Time) bool {
	age := now.UnixNano() - l.small.Load()
	// A small write far in the future arrived before the clock was set back.
	return age <= int64(recent) && age >= -int64(recent)
}

// Enter waits for a free slot for a large request, if small writes arrive. If hasSlot is true, the
// caller must release the slot with Leave. Enter fails if ctx ends.
func (l *Lanes) Enter(ctx context.Context) (hasSlot bool, err error) {
	if !l.shared(l.now()) {
		return false, nil
	}
	if err := l.large.Acquire(ctx, 1); err != nil {
		return false, context.Cause(ctx)
	}
	return true, nil
}

// Leave releases the slot of a call of Enter that returned true.
func (l *Lanes) Leave() { l.large.Release(1) }

// Pace makes one task of bulk work alternate between computing and resting. Only one goroutine may
// use it.
type Pace struct {
	lanes *Lanes
	since time.Time     // beginning of the current computation
	spent time.Duration // computing time since the last rest
}

// Pace returns a Pace for bulk work that begins now.
func (l *Lanes) Pace() *Pace { return &Pace{lanes: l, since: l.now()} }

// Begin marks the end of a pause, such as a wait for the client. The pause does not count as
// computing.
func (p *Pace) Begin() { p.since = p.lanes.now() }

// Rest sleeps if small writes arrive and the work has computed for at least a millisecond. It sleeps
// for the computing time divided by Slots, but at most 5 ms. Bulk work calls it often.
func (p *Pace) Rest() {
	now := p.lanes.now()
	p.spent += now.Sub(p.since)
	p.since = now
	switch {
	case !p.lanes.shared(now):
		p.spent = 0
	case p.spent >= slice:
		time.Sleep(min(p.spent/time.Duration(Slots()), longest)) //nolint:forbidigo // it is short, and a context could not end it earlier
		p.since, p.spent = p.lanes.now(), 0
	}
}
