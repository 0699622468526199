package router

import (
	"context"

	"github.com/varvedb/varve/internal/lanes"
)

// Turn lets one request decode and write. Small requests may do so immediately. Large ones may have
// to wait and rest: see package lanes. Only one goroutine may use a Turn.
type Turn struct {
	lanes *lanes.Lanes
	pace  *lanes.Pace // pace of a large request
	held  bool        // whether lanes.Enter admitted the request as a large one
}

// Turn returns a new turn for the request. Call Begin to start it.
func (q *Request) Turn() *Turn { return &Turn{lanes: q.r.lanes} }

// Pace returns a Pace for bulk work outside of requests. It makes the work rest while small requests
// arrive.
func (r *Router) Pace() *lanes.Pace { return r.lanes.Pace() }

// Begin waits until the request may compute. It fails if ctx ends. Before the caller waits for
// anything other than a processor, it must call End. Afterward, it must call Begin once more.
func (t *Turn) Begin(ctx context.Context, large bool) (err error) {
	if !large {
		t.lanes.Small()
		return nil
	}
	if t.held, err = t.lanes.Enter(ctx); err != nil {
		return err
	}
	if t.pace == nil {
		t.pace = t.lanes.Pace()
	}
	t.pace.Begin()
	return nil
}

// End releases the turn. It reports whether the request was admitted as a large one. If a rest is
// due, a large request rests before another large request may begin.
func (t *Turn) End() (held bool) {
	if held = t.held; held {
		t.pace.Rest()
		t.held = false
		t.lanes.Leave()
	}
	return held
}
