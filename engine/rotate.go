package engine

import (
	"errors"
	"math/rand/v2"
	"time"

	"github.com/varvedb/varve/lease"
)

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
