package consumer

import (
	"context"
	"time"
)

// The shortest and the longest pause between two attempts.
const (
	firstPause = 200 * time.Millisecond
	lastPause  = 15 * time.Second
)

// Retry calls the function "do" until it succeeds, the error is permanent, or ctx ends. After each
// other error, it calls the function "failed".
func Retry(ctx context.Context, isPermanent func(error) bool, failed func(err error, retry time.Duration), do func() error) error {
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		err := do()
		if err == nil || isPermanent(err) || ctx.Err() != nil {
			return err
		}
		failed(err, pause)
		if err := Wait(ctx, pause); err != nil {
			return err
		}
	}
}

// Wait waits for a duration. If ctx ends first, it fails.
func Wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
