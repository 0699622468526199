// Package wait waits for a duration, unless a context ends first.
package wait

import (
	"context"
	"time"
)

// For waits for a duration. If the context ends first, it returns the cause.
func For(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}
