package grid

import (
	"time"

	"github.com/varvedb/varve"
)

const (
	weekSeconds = 7 * 24 * 60 * 60
	// weekOrigin is Monday 29 December 1969: week 0 holds the epoch.
	weekOrigin = -3 * 24 * 60 * 60
)

// weekOf returns the index of the week in which the unix second sec lies.
func weekOf(sec int64) int64 { return floorDiv(sec-weekOrigin, weekSeconds) }

// weekStart returns the unix second at which a week begins; week 0 is cut off
// at the epoch, because names hold no negative times.
func weekStart(week int64) int64 { return max(weekOrigin+week*weekSeconds, 0) }

// onGrid reports whether sec is where a week begins.
func onGrid(sec int64) bool { return weekStart(weekOf(sec)) == sec }

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// Range is a half-open stretch of event time in unix seconds, [Start, End).
// On the grid both are Mondays 00:00 UTC, or Start is 0.
type Range struct {
	Start, End int64
}

// Contains reports whether t lies in the range.
func (r Range) Contains(t time.Time) bool {
	sec := t.Unix()
	return r.Start <= sec && sec < r.End
}

// Window returns the range as a window. A range that ends after the last
// representable reading ends with it.
func (r Range) Window() varve.Window {
	return varve.Window{From: instant(r.Start), To: instant(r.End)}
}

// instant returns a unix second as a time that nanoseconds since 1970 can tell.
func instant(sec int64) time.Time {
	if sec > varve.MaxTime/int64(time.Second) {
		return time.Unix(0, varve.MaxTime).UTC()
	}
	return time.Unix(sec, 0).UTC()
}

// Overlaps reports whether the range shares an instant with the window.
func (r Range) Overlaps(w varve.Window) bool { return r.Window().Overlaps(w) }

// Weeks returns the range's width in weeks; the first week of 1970 counts
// whole.
func (r Range) Weeks() int64 { return weekOf(r.End-1) - weekOf(r.Start) + 1 }
