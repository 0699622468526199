package timefmt

import "time"

// FirstInstant returns the first instant at which clocks in a zone show the given wall time.
//
// The argument "wall" is the wall time, as if in UTC. If the clocks skip this time, the result is the
// instant at which they are put forward.
func FirstInstant(wall time.Time, zone *time.Location) time.Time {
	y, m, d := wall.Date()
	t := time.Date(y, m, d, wall.Hour(), wall.Minute(), wall.Second(), 0, zone)
	begin, end := t.ZoneBounds()
	_, offset := t.Zone()
	switch local := t.Unix() + int64(offset); {
	case local < wall.Unix(): // the clocks skip the wall time, and t is before the skipped hour
		return end
	case local > wall.Unix(): // the clocks skip the wall time, and t is after the skipped hour
		return begin
	case begin.IsZero():
		return t
	}
	// The wall time may occur twice: before and after clocks are put back. If t is the second one,
	// return the first one.
	_, before := begin.Add(-time.Second).Zone()
	if earlier := t.Add(time.Duration(offset-before) * time.Second); earlier.Before(t) && earlier.Before(begin) {
		return earlier
	}
	return t
}
