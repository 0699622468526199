package client

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/varvedb/varve/internal/wait"
)

// Pause waits before a retry, for a random time. Try 0 does not wait. Try 1 waits 20 ms on average, and
// each further try twice as long, up to a second on average.
func Pause(ctx context.Context, try int) error {
	if try == 0 {
		return ctx.Err()
	}
	d := min(20*time.Millisecond<<min(try-1, 10), time.Second)
	return wait.For(ctx, d/2+rand.N(d))
}
