package dynamo

import (
	"context"
	"sync"

	"github.com/varvedb/varve/store"
)

// callGate tracks running calls. After it is closed, no call can begin.
type callGate struct {
	mu     sync.RWMutex // locked for reading during each call
	closed bool
}

// enter begins a call. If it returns nil, the caller must call leave at the end of the call.
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

// close waits until all calls have ended. Later calls of enter fail.
func (g *callGate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
}

// do runs a call between enter and leave. It returns the error of enter or of the call.
func (g *callGate) do(ctx context.Context, call func() error) error {
	if err := g.enter(ctx); err != nil {
		return err
	}
	defer g.leave()
	return call()
}
