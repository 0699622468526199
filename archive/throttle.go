package archive

import (
	"context"
	"time"

	"github.com/varvedb/varve/internal/wait"
)

// restEvery is the number of readings between two rests, for readings that are passed on one by one.
const restEvery = 256

// newRest returns a function for one task that computes much. The task calls the function often, and a
// call waits while small writes arrive. Only one goroutine may call the function.
func (o *files) newRest() func() {
	if o.pace == nil {
		return func() {}
	}
	return o.pace().Rest
}

// limitRate waits after a number of readings of archives, so that they do not exceed Options.Rate.
func (a *Archiver) limitRate(ctx context.Context, readings int) error {
	if a.opts.Rate <= 0 {
		return ctx.Err()
	}
	return wait.For(ctx, time.Duration(float64(readings)/a.opts.Rate*float64(time.Second)))
}
