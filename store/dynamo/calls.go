package dynamo

import (
	"context"
	"sync"

	"github.com/varvedb/varve/store"
)

// callGate lets calls run until it is closed.
type callGate struct {
	mu     sync.RWMutex // held for reading by each call
	closed bool
}

// enter begins a call. If it returns nil, leave must end the call.
func (g *callGate) enter(ctx context.Context) error {
	g.mu.RLock()
	err := ctx.Err()
	if g.closed {
		err = store.ErrClosed
	}
	if err != nil {
		g.mu.RUnlock()
	}
	return err
}

func (g *callGate) leave() { g.mu.RUnlock() }

// close waits for all calls, and refuses later ones.
func (g *callGate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
}

// do makes a call that returns only an error.
func (g *callGate) do(ctx context.Context, call func() error) error {
	if err := g.enter(ctx); err != nil {
		return err
	}
	defer g.leave()
	return call()
}
