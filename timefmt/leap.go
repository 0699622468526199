package timefmt

import (
	"errors"
	"time"
)

// errNoLeapSecond is returned for a second 60 at a time that cannot have a leap second.
var errNoLeapSecond = errors.New("the second 60 is not at the end of a month in UTC: use a second from 00 to 59")

const leapSecond = ":60"

// secondsAt is the index of the colon before the seconds in a date and time, as in
// 2016-12-31T23:59:60.
const secondsAt = len("2016-12-31T23:59")

// ParseTime parses a time as time.ParseInLocation does. The second 60 of a leap second is read as the
// first second of the next minute, because Go's times have no leap seconds. A leap second is the last
// second of a month in UTC. Any other second 60 is an error.
func ParseTime(layout, text string, zone *time.Location) (time.Time, error) {
	t, isLeap, err := parseSecond(layout, text, zone)
	if first := t.UTC().Truncate(time.Second); isLeap && (first.Day() != 1 || !first.Equal(first.Truncate(24*time.Hour))) {
		return time.Time{}, errNoLeapSecond
	}
	return t, err
}

// ParseWall parses a time that ParseTime accepts in some zone, as if it were in UTC.
func ParseWall(layout, text string) (time.Time, error) {
	t, _, err := parseSecond(layout, text, time.UTC)
	return t, err
}

// parseSecond parses a time, and reports whether its second is 60.
func parseSecond(layout, text string, zone *time.Location) (t time.Time, isLeap bool, err error) {
	end := secondsAt + len(leapSecond)
	if len(text) < end || text[secondsAt:end] != leapSecond {
		t, err = time.ParseInLocation(layout, text, zone)
		return t, false, err
	}
	if t, err = time.ParseInLocation(layout, text[:secondsAt]+":59"+text[end:], zone); err != nil {
		return time.Time{}, false, err
	}
	return t.Add(time.Second), true, nil
}
