package timefmt

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/varvedb/varve/internal/quote"
)

// maxMonths is the maximum number of months of a distance from now: 292 years.
const maxMonths = 292 * 12

// errDistance is the error for a text that begins with a sign and is not a distance from now.
var errDistance = errors.New("is not a distance from now: write it as in -24h, -7d or -1mo")

// ParseRelative parses a time that depends on the present time, or on a calendar in a zone. It returns false
// for a text in another form.
//
//	now              the present time
//	today, yesterday the beginning of the day
//	-24h, +7d        a duration before or after now
//	-1mo, +12mo      calendar months before or after now
//	2026-11          the beginning of the month
//
// If the resulting month is too short for the day, the time is on its last day: a month before March 31
// is February 28 or 29.
func ParseRelative(text string, now time.Time, zone *time.Location) (t time.Time, ok bool, err error) {
	local := now.In(zone)
	switch {
	case text == "now":
		return now, true, nil
	case text == "today":
		return startOf(local, 0), true, nil
	case text == "yesterday":
		return startOf(local, -1), true, nil
	case len(text) > 1 && (text[0] == '-' || text[0] == '+') && strings.ContainsAny(text[len(text)-1:], "ywdhmso"):
		t, err := addDistance(local, text)
		return t, true, err
	case len(text) == len("2006-01") && text[4] == '-':
		t, err := time.Parse("2006-01", text)
		if err != nil || t.Year() < 1970 || t.Year() > 2261 {
			return time.Time{}, true, fmt.Errorf("%s is not a month from 1970 to 2261: write it as in 2026-11", quote.Text(text))
		}
		return FirstInstant(t, zone), true, nil
	}
	return time.Time{}, false, nil
}

// startOf returns the beginning of the day that is the given number of days after the day of t.
func startOf(t time.Time, days int) time.Time {
	return FirstInstant(time.Date(t.Year(), t.Month(), t.Day()+days, 0, 0, 0, 0, time.UTC), t.Location())
}

func addDistance(t time.Time, text string) (time.Time, error) {
	number, isMonths := strings.CutSuffix(text[1:], "mo")
	if isMonths {
		months, err := strconv.ParseUint(number, 10, 31)
		if err != nil || months > maxMonths {
			return time.Time{}, fmt.Errorf("%s %w", quote.Text(text), errDistance)
		}
		if text[0] == '-' {
			return addMonths(t, -int(months)), nil
		}
		return addMonths(t, int(months)), nil
	}
	d, err := ParseDuration(text[1:])
	if err != nil || d == Forever {
		return time.Time{}, fmt.Errorf("%s %w", quote.Text(text), errDistance)
	}
	if text[0] == '-' {
		d = -d
	}
	return t.Add(d), nil
}

// addMonths adds calendar months to a time, with the same time of day. If the month is shorter, the
// result is on its last day.
func addMonths(t time.Time, months int) time.Time {
	first := time.Date(t.Year(), t.Month()+time.Month(months), 1, 0, 0, 0, 0, time.UTC) // the calendar needs no zone
	last := time.Date(first.Year(), first.Month()+1, 0, 0, 0, 0, 0, time.UTC).Day()
	return time.Date(first.Year(), first.Month(), min(t.Day(), last), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), t.Location())
}
