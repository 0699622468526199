package grid

import (
	"time"

	"github.com/varvedb/varve"
)

const (
	weekSeconds = 7 * 24 * 60 * 60
	// weekOrigin is Monday 29 December 1969, 00:00 UTC. Week 0 begins there, and contains 1 January
	// 1970.
	weekOrigin = -3 * 24 * 60 * 60
)

func weekOf(sec int64) int64 { return floorDiv(sec-weekOrigin, weekSeconds) }

// weekStart returns the beginning of a week as a Unix time. It returns 0 for week 0, because names
// cannot contain negative times.
func weekStart(week int64) int64 { return max(weekOrigin+week*weekSeconds, 0) }

// onGrid reports whether a Unix time is the beginning of a week.
func onGrid(sec int64) bool { return weekStart(weekOf(sec)) == sec }

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// Range is a half-open range of event time in Unix seconds, [Start, End). In a table, both ends
// are Mondays at 00:00 UTC, except that Start may be 0.
type Range struct {
	Start, End int64
}

// Contains reports whether t is in the range.
func (r Range) Contains(t time.Time) bool {
	sec := t.Unix()
	return r.Start <= sec && sec < r.End
}

// Window returns the range as a window. A window never ends after varve.MaxTime.
func (r Range) Window() varve.Window {
	return varve.Window{From: instant(r.Start), To: instant(r.End)}
}

// instant converts a Unix time. A time after varve.MaxTime becomes varve.MaxTime, so that its
// nanoseconds do not overflow.
func instant(sec int64) time.Time {
	if sec > varve.MaxTime/int64(time.Second) {
		return time.Unix(0, varve.MaxTime).UTC()
	}
	return time.Unix(sec, 0).UTC()
}

// Overlaps reports whether some instant is both in the range and in the window.
func (r Range) Overlaps(w varve.Window) bool { return r.Window().Overlaps(w) }

// Weeks returns the number of weeks in the range. The shortened first week of 1970 counts as
// one.
func (r Range) Weeks() int64 { return weekOf(r.End-1) - weekOf(r.Start) + 1 }
