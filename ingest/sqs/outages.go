package sqs

import (
	"context"
	"sync"
)

// outages counts the receivers whose messages cannot be stored at present. Its zero value is ready to use.
type outages struct {
	mu    sync.Mutex
	count int
	over  chan struct{} // closed when count becomes 0
}

func (o *outages) begin() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.count++; o.count == 1 {
		o.over = make(chan struct{})
	}
}

func (o *outages) end() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.count--; o.count == 0 {
		close(o.over)
	}
}

// wait waits until the messages of all receivers can be stored. If ctx ends first, it fails.
func (o *outages) wait(ctx context.Context) error {
	o.mu.Lock()
	over, count := o.over, o.count
	o.mu.Unlock()
	if count == 0 {
		return nil
	}
	select {
	case <-over:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
