package client

import (
	"context"
	"math/rand/v2"
	"time"
)

// Pause waits before a retry. Try 0 has no pause, try 1 about 20 ms, and further ones up
// to a second.
func Pause(ctx context.Context, try int) error {
	if try == 0 {
		return ctx.Err()
	}
	d := min(20*time.Millisecond<<min(try-1, 10), time.Second)
	return Wait(ctx, d/2+rand.N(d))
}

// Wait waits for a duration, or until the context ends.
func Wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}
