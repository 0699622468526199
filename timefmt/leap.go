package timefmt

import "time"

// leapSecond is the text of the seconds of a leap second.
const leapSecond = ":60"

// secondsAt is the place of the seconds in a date and time, as in 2016-12-31T23:59:60.
const secondsAt = len("2016-12-31T23:59")

// ParseTime parses a time as time.ParseInLocation does. The second 60, as of a leap second, is read
// as the second after 59: Go and UTC timestamps have no leap seconds.
func ParseTime(layout, text string, zone *time.Location) (time.Time, error) {
	end := secondsAt + len(leapSecond)
	if len(text) < end || text[secondsAt:end] != leapSecond {
		return time.ParseInLocation(layout, text, zone)
	}
	t, err := time.ParseInLocation(layout, text[:secondsAt]+":59"+text[end:], zone)
	return t.Add(time.Second), err
}
