package ingest

import (
	"context"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/router"
)

// Destination receives the readings of sessions. A server has a router, and an agent has an outbox.
type Destination interface {
	// Admit begins the write of a session. It fails with varve.Busy if too many are under way.
	Admit() (Request, error)
}

// Request is the write of one session. Only one goroutine may use it.
type Request interface {
	// Arrived returns the arrival of all readings of the request.
	Arrived() time.Time
	// Turn returns the request's permission to compute.
	Turn() Turn
	// Write sets a verdict for each reading that has none. It returns an error only if the context
	// ended.
	Write(ctx context.Context, readings []varve.Reading, verdicts []varve.Verdict) error
	// Check sets the verdict of readings that Write would always reject.
	Check(readings []varve.Reading, verdicts []varve.Verdict)
	// Done ends the request.
	Done()
}

// Turn is the permission of a request to compute. A request has its turn while it decodes and writes.
// It gives the turn up while it waits for its sender.
type Turn interface {
	// Begin waits until the request may compute. It fails if the context ends.
	Begin(ctx context.Context, large bool) error
	// End ends the turn. It reports whether the request had the turn of a large request.
	End() (held bool)
}

// routed implements Destination with a router.
type routed struct{ router *router.Router }

type routedRequest struct{ *router.Request }

func (r routed) Admit() (Request, error) {
	request, err := r.router.Admit()
	if err != nil {
		return nil, err
	}
	return routedRequest{request}, nil
}

func (r routedRequest) Turn() Turn { return r.Request.Turn() }
