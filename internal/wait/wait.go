// Package wait waits for a duration, unless a context ends first.
//
// [For] returns nil after the duration. If the context ends first, it returns the cause
// immediately. Loops call it instead of time.Sleep, which a context cannot end. It is safe for
// concurrent use.
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
