package router

import (
	"context"

	"github.com/varvedb/varve/internal/lanes"
)

// Turn is the permission of one request to decode and write. Small requests get it at once,
// large ones may wait and rest: see package lanes. Only one goroutine may use a Turn.
type Turn struct {
	lanes *lanes.Lanes
	pace  *lanes.Pace // of a large request
	held  bool        // it has a place of a large request
}

// Turn returns a new turn of the request. Begin starts it.
func (q *Request) Turn() *Turn { return &Turn{lanes: q.r.lanes} }

// Begin waits until the request may compute. It fails if ctx ends. A request ends its turn
// before it waits for anything but a processor, and begins it afterwards.
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

// End ends the turn. It reports whether the turn had a place of a large request. Such a request
// rests in its place first, if it is due.
func (t *Turn) End() (held bool) {
	if held = t.held; held {
		t.pace.Rest()
		t.held = false
		t.lanes.Leave()
	}
	return held
}
