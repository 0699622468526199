package grid

import (
	"errors"
	"iter"
	"slices"
	"time"

	"github.com/varvedb/varve"
)

// Policy defines the ranges of the grid. Processes with equal policies compute equal tables. Old
// tables stay readable after a change of the policy, because their ranges are parsed from their
// names.
type Policy struct {
	// Future is the furthest that an event time may be after its arrival. It is from 0 to
	// MaxFuture.
	Future time.Duration
	// Recent is the number of weeks before an arrival month that have a table each, from 0 to 52.
	// One week is added if this aligns the next range.
	Recent int
	// Doubling is the time before the arrival month that has ranges of 2, 4, 8 … weeks. It is at
	// most 50 years. One range covers all earlier event times.
	Doubling time.Duration
}

// DefaultPolicy returns the default policy. It allows event times up to a day after arrival, and
// has six recent weeks, and ranges of doubling width for five years.
func DefaultPolicy() Policy {
	return Policy{Future: 24 * time.Hour, Recent: 6, Doubling: 5 * 365 * 24 * time.Hour}
}

// MaxFuture is the furthest that an event time may be after its arrival under any policy: 8
// weeks.
const MaxFuture = 8 * weekSeconds * time.Second

// Upper limits of Policy.Recent, in weeks, and of Policy.Doubling.
const (
	maxRecent   = 52
	maxDoubling = 50 * 365 * 24 * time.Hour
)

// skipFrom is the width, in weeks, above which Ranges may skip a width.
const skipFrom = 8

// Validate returns an error that joins an Invalid error for each violation. The parameters of these
// errors are future, recent and doubling.
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

// Ranges returns the event ranges of an arrival month in ascending order.
//
// They partition the time from 1970 to the end of the week of the latest event time that can
// arrive in the month. From the newest to the oldest, they are:
//
//   - a range of one week for each week of Future, of the month, and of the Recent weeks before it
//   - one more range of one week, if it aligns the older ranges
//   - ranges of 2, 4, 8 … weeks, each aligned to a multiple of its width
//   - one range from 1970
//
// Above 8 weeks, a width is skipped if the range can be aligned to twice the width. So the default
// policy needs at most 24 tables per arrival month.
func (p Policy) Ranges(m Month) []Range {
	ranges := slices.Collect(p.backward(m))
	slices.Reverse(ranges)
	return ranges
}

// Locate returns the range of an arrival month that contains an event time.
//
// It returns false for times before 1970 or after the last range. The last range ends at most a
// week after the last event time that the policy allows.
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

// backward yields the ranges of an arrival month from the newest to the oldest.
func (p Policy) backward(m Month) iter.Seq[Range] {
	return func(yield func(Range) bool) {
		// The oldest week with a table of its own has an even number, so that the range of two
		// weeks before it is aligned.
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
