package journal

import (
	"context"
)

// Commit is the result of an attempt to make a frame durable.
type Commit struct {
	done  chan struct{}
	err   error
	retry *Commit // the next attempt after a failed write; otherwise nil
}

func newCommit() *Commit { return &Commit{done: make(chan struct{})} }

func ended(err error) *Commit {
	c := newCommit()
	c.end(err, nil)
	return c
}

func (c *Commit) end(err error, retry *Commit) {
	c.err, c.retry = err, retry
	close(c.done)
}

// Wait waits until the frame is durable. It returns the error of the write or of the context.
//
// After either error, the frame may still become durable later.
func (c *Commit) Wait(ctx context.Context) error {
	select {
	case <-c.done:
		return c.err
	default:
	}
	select {
	case <-c.done:
		return c.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Ended reports whether the attempt has ended, so that Wait returns immediately.
func (c *Commit) Ended() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// Retry returns the commit of the next attempt to write the frame, or nil. Callers use it after
// Wait returned the error of a write. If the commit has not ended, Retry returns the commit itself.
func (c *Commit) Retry() *Commit {
	if !c.Ended() {
		return c
	}
	return c.retry
}

// Durable reports whether any attempt has made the frame durable.
func (c *Commit) Durable() bool {
	for ; c != nil && c.Ended(); c = c.retry {
		if c.err == nil {
			return true
		}
	}
	return false
}
