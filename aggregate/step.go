package aggregate

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/varvedb/varve/internal/quote"
	"github.com/varvedb/varve/timefmt"
)

const (
	daySeconds = int64(24 * time.Hour / time.Second)
	weekDays   = 7
	yearMonths = 12
	monday     = 4 // number of the day of the first Monday, counted from 1970-01-01
)

// maxStep limits the length of steps, so that the start and end of every bucket can be formatted
// as times.
const maxStep = 100 * 365 * 24 * time.Hour

// Step divides event time into buckets.
//
// Buckets of a fixed length are counted from 1970 in UTC. In another time zone, they are counted
// from each local midnight, and the last bucket of a day ends at the next midnight. Days, weeks,
// months and years are calendar steps: their buckets begin at local midnight.
type Step struct {
	seconds int64 // length of a fixed step; 0 for a calendar step
	days    int64 // number of days of a calendar step of days or weeks; 0 for other steps
	origin  int64 // day from which groups of days are counted: the number of days since 1970-01-01
	months  int64 // number of months of a calendar step of months or years; 0 for other steps
	zone    *time.Location
}

// Bucket is a half-open range of event time, in unix seconds.
type Bucket struct{ Start, End int64 }

// Contains reports whether a unix time is in the bucket.
func (b Bucket) Contains(sec int64) bool { return b.Start <= sec && sec < b.End }

// ParseStep parses a duration as in 5m or 1h30m, or a calendar step as in 1d, 1w, 1mo or 1y.
func ParseStep(text string, zone *time.Location) (Step, error) {
	if zone == nil {
		zone = time.UTC
	}
	s := Step{zone: zone}
	wrong := fmt.Errorf("%s is not a step: use a duration as in 5m, or 1d, 1w, 1mo, 1y", quote.Text(text))
	if text == "" {
		return s, fmt.Errorf("missing: use a duration as in 5m, or 1d, 1w, 1mo, 1y")
	}
	digits := strings.TrimRight(text, "abcdefghijklmnopqrstuvwxyz")
	if n, err := strconv.ParseUint(digits, 10, 15); err == nil && n > 0 {
		switch text[len(digits):] {
		case "d":
			s.days = int64(n)
		case "w":
			s.days, s.origin = weekDays*int64(n), monday
		case "mo":
			s.months = int64(n)
		case "y":
			s.months = yearMonths * int64(n)
		}
	}
	if s.days > 0 || s.months > 0 {
		if s.days > int64(maxStep/time.Second)/daySeconds || s.months > 100*yearMonths {
			return s, fmt.Errorf("%s is too long: use at most 100y", text)
		}
		return s, nil
	}
	d, err := timefmt.ParseDuration(text)
	if err != nil || d < time.Second || strings.ContainsAny(text, "yw") {
		return s, wrong
	}
	if d > maxStep {
		return s, fmt.Errorf("%s is too long: use at most 100y", text)
	}
	s.seconds = int64(d / time.Second)
	if s.seconds%daySeconds == 0 {
		s.days, s.seconds = s.seconds/daySeconds, 0
	}
	if s.seconds > 0 && zone != time.UTC && daySeconds%s.seconds != 0 {
		return s, fmt.Errorf("%s does not divide a day: use a divisor of 24h, or timezone UTC", text)
	}
	return s, nil
}

// IsZero reports whether the step is not set.
func (s Step) IsZero() bool { return s.seconds == 0 && s.days == 0 && s.months == 0 }

// BucketAt returns the bucket that contains a unix time.
func (s Step) BucketAt(sec int64) Bucket {
	switch {
	case s.seconds > 0 && s.zone == time.UTC:
		start := floor(sec, s.seconds)
		return Bucket{start, start + s.seconds}
	case s.seconds > 0:
		day := boundaries{firstInstant: s.startOfDay, unit: 1}.at(s.localDay(sec), sec)
		start := day.Start + floor(sec-day.Start, s.seconds)
		return Bucket{start, min(start+s.seconds, day.End)}
	case s.days > 0:
		return boundaries{s.startOfDay, s.days, s.origin}.at(s.localDay(sec), sec)
	default:
		y, m, _ := time.Unix(sec, 0).In(s.zone).Date()
		return boundaries{s.startOfMonth, s.months, 0}.at(int64(y)*yearMonths+int64(m)-1, sec)
	}
}

// boundaries divide time into groups of days or months. Each group has "unit" days or months, and
// one group begins at day or month "origin". The function firstInstant(n) returns the start of day
// or month n.
type boundaries struct {
	firstInstant func(n int64) int64
	unit, origin int64
}

// at returns the bucket of a unix time that is on day or month n of the calendar.
//
// If clocks are put back past midnight, the end of the previous date occurs a second time. A time
// in this repetition is in the bucket that begins at midnight, not in the bucket of its date.
func (b boundaries) at(n, sec int64) Bucket {
	n = floor(n-b.origin, b.unit) + b.origin
	found := Bucket{b.firstInstant(n), b.firstInstant(n + b.unit)}
	for found.End <= sec {
		n += b.unit
		found = Bucket{found.End, b.firstInstant(n + b.unit)}
	}
	return found
}

// localDay returns the number of the day of a unix time in the time zone, counted from
// 1970-01-01.
func (s Step) localDay(sec int64) int64 {
	t := time.Unix(sec, 0).In(s.zone)
	_, offset := t.Zone()
	return floor(sec+int64(offset), daySeconds) / daySeconds
}

// startOfMonth returns the first instant of month n in the time zone, counted from January of
// year 0.
func (s Step) startOfMonth(n int64) int64 {
	first := time.Date(0, time.January+time.Month(n), 1, 0, 0, 0, 0, time.UTC)
	return s.startOfDay(first.Unix() / daySeconds)
}

// startOfDay returns the first instant of a day in the time zone. The day is counted from
// 1970-01-01. For a day that the zone skipped, it returns the first instant of the next day.
func (s Step) startOfDay(day int64) int64 {
	if s.zone == time.UTC {
		return day * daySeconds
	}
	return timefmt.FirstInstant(time.Unix(day*daySeconds, 0).UTC(), s.zone).Unix()
}

// floor returns the largest multiple of unit that is at most n.
func floor(n, unit int64) int64 {
	rest := n % unit
	if rest < 0 {
		rest += unit
	}
	return n - rest
}
