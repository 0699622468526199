package engine

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/varvedb/varve/lease"
)

// firstRotation is the longest time for which Open waits for the first rotation.
const firstRotation = time.Minute

// rotateFirst runs the rotator for the first time. It waits for at most firstRotation, and only until
// ctx ends, because requests wait for it. After a long stop of the service, many drops and deletions of
// expired readings may be due. They continue in the background.
func rotateFirst(ctx context.Context, e *Engine) {
	done := make(chan struct{})
	e.first.Go(func() {
		defer close(done)
		// Failures are visible in the events, the health and the conditions of the rotator.
		_ = e.rotate()
	})
	timer := time.NewTimer(firstRotation)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	case <-ctx.Done():
	}
}

// rotate runs the rotator. If another process holds the lease, rotate retries later, so that this
// process knows the state of the tables, too.
func (e *Engine) rotate() error {
	_, err := e.Rotator.Run(e.background)
	if !errors.Is(err, lease.ErrHeld) {
		return err
	}
	if e.retrying.CompareAndSwap(false, true) {
		e.retries.Go(func() {
			defer e.retrying.Store(false)
			e.rotateLater()
		})
	}
	return nil
}

// rotateLater runs the rotator from time to time until no other process holds the lease.
func (e *Engine) rotateLater() {
	for {
		timer := time.NewTimer(rotateAgain/2 + rand.N(rotateAgain))
		select {
		case <-e.background.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
		// Failures are visible in the events and the health of the rotator.
		if _, err := e.Rotator.Run(e.background); !errors.Is(err, lease.ErrHeld) {
			return
		}
	}
}

// rotateAgain is the approximate delay between two attempts to get the lease.
const rotateAgain = 20 * time.Second
