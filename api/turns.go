package api

import (
	"context"
	"github.com/varvedb/varve/router"
	"io"
)

// yielding is the body of a request. It gives up the request's turn while it waits for the client,
// so that a slow upload does not delay others.
type yielding struct {
	io.ReadCloser
	ctx  context.Context
	turn *router.Turn
}

func (y yielding) Read(p []byte) (int, error) {
	held := y.turn.End()
	n, err := y.ReadCloser.Read(p)
	if held && err == nil {
		err = y.turn.Begin(y.ctx, true)
	}
	return n, err
}
