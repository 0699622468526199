package router

import (
	"context"
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"
)

// lanes keeps a processor free for small requests while large ones are decoded
// and written. Go runs goroutines first come, first served, so a small request
// would wait for every large one that computes; with a processor left idle it
// starts at once. While no small requests come, large ones use all processors.
type lanes struct {
	large *semaphore.Weighted // processors for large requests, beside small ones
	small atomic.Int64        // when the last small request came, ns since 1970
	now   func() time.Time
}

// smallRecent is how long large requests make way after a small one.
const smallRecent = time.Second

func newLanes(now func() time.Time) *lanes {
	return &lanes{large: semaphore.NewWeighted(int64(max(1, runtime.GOMAXPROCS(0)-1))), now: now}
}

// Turn lets one request compute: decode and write. A large request makes way for
// small ones; a small one never waits. A Turn is used by one goroutine.
type Turn struct {
	lanes *lanes
	held  bool // a place among the large requests
}

// Turn returns the request's turn, not yet begun.
func (q *Request) Turn() *Turn { return &Turn{lanes: q.r.lanes} }

// Begin waits until the request may compute. It fails when ctx ends. A turn that
// waits for something else than a processor ends first, and begins again.
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

// End ends the turn, and reports whether it held a place among the large ones.
func (t *Turn) End() (held bool) {
	if held = t.held; held {
		t.held = false
		t.lanes.large.Release(1)
	}
	return held
}
