package client

import (
	"context"
	"math/rand/v2"
	"time"
)

// Pause waits before a retry. Try 0 does not wait. Try 1 waits about 20 ms, and each further try
// about twice as long, up to about a second.
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
