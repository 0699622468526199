package varve

import (
	"cmp"
	"fmt"
	"time"
)

// Window is a half-open range of event time, [From, To).
type Window struct {
	From, To time.Time
}

// AllTime returns the window of all valid event times.
func AllTime() Window {
	return Window{From: time.Unix(0, 0).UTC(), To: time.Unix(0, MaxTime).UTC()}
}

// Contains reports whether t is in the window.
func (w Window) Contains(t time.Time) bool { return !t.Before(w.From) && t.Before(w.To) }

// Overlaps reports whether some instant is in both windows. An empty window overlaps no window.
func (w Window) Overlaps(v Window) bool {
	return w.From.Before(v.To) && v.From.Before(w.To) && w.From.Before(w.To) && v.From.Before(v.To)
}

// Validate returns an error if the window ends before it begins.
func (w Window) Validate() error {
	if w.To.Before(w.From) {
		return fmt.Errorf("the window ends at %s, before it begins at %s",
			w.To.UTC().Format(time.RFC3339Nano), w.From.UTC().Format(time.RFC3339Nano))
	}
	return nil
}

// Position is an event time and an id. The readings of a series are in the order of their
// positions. A cursor contains a position.
type Position struct {
	Time int64 // nanoseconds since 1970, UTC
	ID   ID
}

// Compare orders positions by time, then by id.
func (p Position) Compare(q Position) int {
	if order := cmp.Compare(p.Time, q.Time); order != 0 {
		return order
	}
	return p.ID.Compare(q.ID)
}

// IsVersionOf reports whether two positions differ at most in the versions of their ids.
func (p Position) IsVersionOf(q Position) bool { return p.Time == q.Time && p.ID.IsVersionOf(q.ID) }

// Order is the direction in which a series is read.
type Order uint8

// The two orders. The zero value is ascending.
const (
	Ascending Order = iota
	Descending
)

func (o Order) String() string {
	if o == Descending {
		return "desc"
	}
	return "asc"
}

// By selects which reading is the latest: the one with the latest event time or the latest
// arrival.
type By uint8

// The values of By. The zero value selects by event time.
const (
	ByEvent By = iota
	ByArrival
)

func (b By) String() string {
	if b == ByArrival {
		return "arrival"
	}
	return "event"
}

// Later reports whether r is later than q, by event time or by arrival. Equal arrivals are
// ordered by position.
func (b By) Later(r, q *Reading) bool {
	if b == ByArrival && !r.Arrived.Equal(q.Arrived) {
		return r.Arrived.After(q.Arrived)
	}
	return r.Position().Compare(q.Position()) > 0
}
