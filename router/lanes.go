package router

import (
	"context"
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"
)

// lanes reserves a processor for small requests while large ones are decoded and written.
//
// The Go scheduler is first come, first served, so a small request would wait for all large ones
// that compute. With one idle processor it starts at once. If no small requests arrive, large
// ones use all processors.
type lanes struct {
	large *semaphore.Weighted // processors for large requests while small ones arrive
	small atomic.Int64        // arrival of the last small request, in ns since 1970
	now   func() time.Time
}

// smallRecent is the time after a small request for which large requests leave a processor idle.
const smallRecent = time.Second

func newLanes(now func() time.Time) *lanes {
	return &lanes{large: semaphore.NewWeighted(int64(max(1, runtime.GOMAXPROCS(0)-1))), now: now}
}

// Turn is the permission of one request to decode and write. Small requests get it at once,
// large ones may wait. Only one goroutine may use a Turn.
type Turn struct {
	lanes *lanes
	held  bool // it occupies a processor for large requests
}

// Turn returns a new turn of the request. Begin starts it.
func (q *Request) Turn() *Turn { return &Turn{lanes: q.r.lanes} }

// Begin waits until the request may compute. It fails if ctx ends. A request ends its turn
// before it waits for anything but a processor, and begins it afterwards.
func (t *Turn) Begin(ctx context.Context, large bool) error {
	now := t.lanes.now().UnixNano()
	if !large {
		t.lanes.small.Store(now)
		return nil
	}
	if now-t.lanes.small.Load() > int64(smallRecent) {
		return nil
	}
	if err := t.lanes.large.Acquire(ctx, 1); err != nil {
		return context.Cause(ctx)
	}
	t.held = true
	return nil
}

// End ends the turn. It reports whether the turn occupied a processor for large requests.
func (t *Turn) End() (held bool) {
	if held = t.held; held {
		t.held = false
		t.lanes.large.Release(1)
	}
	return held
}
