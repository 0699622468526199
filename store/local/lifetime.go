package local

import (
	"context"
	"sync"

	"github.com/varvedb/varve/store"
)

// lifetime admits calls until the store closes, and ends the background work then.
type lifetime struct {
	mu     sync.RWMutex // read-locked by calls from enter to leave, and write-locked by Close
	closed bool

	background context.Context // ends when the store closes
	stop       context.CancelFunc
	workers    sync.WaitGroup
}

func newLifetime() *lifetime {
	l := &lifetime{}
	l.background, l.stop = context.WithCancel(context.Background())
	return l
}

func (l *lifetime) enter(ctx context.Context) error {
	l.mu.RLock()
	if l.closed {
		l.mu.RUnlock()
		return store.ErrClosed
	}
	if err := ctx.Err(); err != nil {
		l.mu.RUnlock()
		return context.Cause(ctx)
	}
	return nil
}

func (l *lifetime) leave() { l.mu.RUnlock() }
