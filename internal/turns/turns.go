// Package turns limits how many reads work at a time, but not how many wait for a slow service.
//
//	TakeTurn ── work ── Pause ── wait without a slot ── work ── end of TakeTurn
//
// [TakeTurn] runs a part of a read that needs a slot. Within that part, [Pause] waits for another service, and
// gives the slot to other reads meanwhile. So a service that does not answer delays only the reads that
// need it. Pause recognizes the part by its context. Without TakeTurn, it only calls its function.
//
// A part may wait in several goroutines at the same time. Goroutines that outlive it wait without a slot.
package turns

import (
	"cmp"
	"context"
	"sync"

	"golang.org/x/sync/semaphore"
)

// turn has the slot of one call of TakeTurn.
type turn struct {
	slots *semaphore.Weighted

	mu      sync.Mutex // also locked while the turn waits for its slot
	pausing int        // calls of Pause that wait
	has     bool       // whether the turn has its slot
	ended   bool       // whether TakeTurn has ended
}

type contextKey struct{}

// TakeTurn runs a function as soon as one of the slots is free. If ctx ends first, Take returns its cause. The function
// must use the context that it gets.
func TakeTurn(ctx context.Context, slots *semaphore.Weighted, work func(context.Context) error) error {
	t := &turn{slots: slots}
	if err := t.begin(ctx); err != nil {
		return err
	}
	defer t.end()
	return work(context.WithValue(ctx, contextKey{}, t))
}

// Pause runs a function that waits for another service. In a part of TakeTurn, it gives the slot back meanwhile. If ctx
// ends before the read has a slot once more, Pause returns the cause.
func Pause(ctx context.Context, wait func() error) error {
	t, ok := ctx.Value(contextKey{}).(*turn)
	if !ok {
		return wait()
	}
	t.pause()
	err := wait()
	return cmp.Or(err, t.resume(ctx))
}

func (t *turn) begin(ctx context.Context) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.acquire(ctx)
}

func (t *turn) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended = true
	t.release()
}

func (t *turn) pause() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.pausing++
	t.release()
}

// resume takes the slot again once no call of Pause waits any more.
func (t *turn) resume(ctx context.Context) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.pausing--; t.pausing > 0 || t.ended {
		return nil
	}
	return t.acquire(ctx)
}

func (t *turn) acquire(ctx context.Context) error {
	if err := t.slots.Acquire(ctx, 1); err != nil {
		return context.Cause(ctx)
	}
	t.has = true
	return nil
}

func (t *turn) release() {
	if t.has {
		t.has = false
		t.slots.Release(1)
	}
}
