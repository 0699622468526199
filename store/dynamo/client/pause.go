package client

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/varvedb/varve/internal/wait"
)

// Pause waits before a retry. Try 0 does not wait. Try 1 waits about 20 ms, and each further try
// about twice as long, up to about a second.
func Pause(ctx context.Context, try int) error {
	if try == 0 {
		return ctx.Err()
	}
	d := min(20*time.Millisecond<<min(try-1, 10), time.Second)
	return wait.For(ctx, d/2+rand.N(d))
}
