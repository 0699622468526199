package grid

import (
	"errors"
	"iter"
	"slices"
	"time"

	"github.com/varvedb/varve"
)

// Policy shapes the grid. Two processes with the same policy compute the same
// tables; after a change of policy old tables stay readable, because ranges
// are read from names.
type Policy struct {
	// Future is how far ahead of its arrival an event time may lie: 0 to
	// MaxFuture.
	Future time.Duration
	// Recent is how many weeks before a write month still have a table each:
	// 0 to 52. One more where that puts the next range on its grid.
	Recent int
	// Doubling is how far back ranges of 2, 4, 8 … weeks reach, 0 to 50 years;
	// everything older is one range down to 1970.
	Doubling time.Duration
}

// DefaultPolicy takes event times up to a day ahead, keeps six weeks weekly and
// doubles over five years.
func DefaultPolicy() Policy {
	return Policy{Future: 24 * time.Hour, Recent: 6, Doubling: 5 * 365 * 24 * time.Hour}
}

// MaxFuture is the furthest that an event time can lie ahead of its arrival,
// whatever the policy was then: 8 weeks.
const MaxFuture = 8 * weekSeconds * time.Second

// The other bounds of a policy.
const (
	maxRecent   = 52
	maxDoubling = 50 * 365 * 24 * time.Hour
)

// skipFrom is the width in weeks behind which one may be left out.
const skipFrom = 8

// Validate reports everything that is wrong with the policy, as joined Invalid
// errors whose parameters are future, recent and doubling.
func (p Policy) Validate() error {
	var errs []error
	if p.Future < 0 || p.Future > MaxFuture {
		errs = append(errs, varve.InvalidParam("future", "%s is not from 0 to 8 weeks", p.Future))
	}
	if p.Recent < 0 || p.Recent > maxRecent {
		errs = append(errs, varve.InvalidParam("recent", "%d is not from 0 to %d weeks", p.Recent, maxRecent))
	}
	if p.Doubling < 0 || p.Doubling > maxDoubling {
		errs = append(errs, varve.InvalidParam("doubling", "%s is not from 0 to 50 years", p.Doubling))
	}
	return errors.Join(errs...)
}

// Layout returns the event ranges of a write month in ascending order. They
// partition the time from 1970 to the end of the week in which the latest
// event time lies that can arrive in the month: a week each for the month, the
// Recent weeks before it and the Future after it; then 2, 4, 8 … weeks going
// back, each aligned to a multiple of its width; then one range down to 1970.
// Behind 8 weeks a width is left out where twice that width is aligned as well,
// so that five years always fit in 24 tables.
func (p Policy) Layout(m Month) []Range {
	layout := slices.Collect(p.backward(m))
	slices.Reverse(layout)
	return layout
}

// Locate returns the range of a write month's layout that holds an event time.
// It is false for times before 1970 and beyond the layout's end, which is at
// most a week after the last event time that the policy lets in.
func (p Policy) Locate(t time.Time, m Month) (Range, bool) {
	if t.Unix() >= 0 {
		for r := range p.backward(m) {
			if r.Start <= t.Unix() {
				return r, t.Unix() < r.End
			}
		}
	}
	return Range{}, false
}

// backward yields a write month's ranges from the newest to the oldest.
func (p Policy) backward(m Month) iter.Seq[Range] {
	return func(yield func(Range) bool) {
		// The oldest week with a table of its own is even, which puts the
		// range of two weeks before it on its grid.
		first := max(weekOf(m.Start().Unix())-int64(p.Recent), 0) &^ 1
		last := weekOf(m.End().Add(p.Future - 1).Unix())
		for week := last; week >= first; week-- {
			if !yield(Range{weekStart(week), weekStart(week + 1)}) {
				return
			}
		}
		horizon := weekOf(m.Start().Add(-p.Doubling).Unix())
		width := int64(2)
		for at := first; at > 0; at -= width {
			if at <= horizon || at < width {
				yield(Range{0, weekStart(at)})
				return
			}
			if at != first && at%(2*width) == 0 {
				width *= 2
				if width > skipFrom && at%(2*width) == 0 {
					width *= 2
				}
			}
			if !yield(Range{weekStart(at - width), weekStart(at)}) {
				return
			}
		}
	}
}
