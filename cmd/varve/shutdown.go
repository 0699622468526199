package main

import (
	"errors"
	"time"
)

// leastClose is the minimum time for closing the store, however short server.drain
// is.
const leastClose = 10 * time.Second

var errSlowClose = errors.New("closing the store took too long, and was given up: nothing that was acknowledged is lost")

// closeWithin closes a resource, and stops waiting for it after the given time.
func closeWithin(within time.Duration, do func() error) error {
	done := make(chan error, 1)
	go func() { done <- do() }()
	late := time.NewTimer(within)
	defer late.Stop()
	select {
	case err := <-done:
		return err
	case <-late.C:
		return errSlowClose
	}
}
