package rollup

import (
	"fmt"
	"time"
)

// Period is how long the time of one roll-up is.
type Period uint8

// The periods.
const (
	Hourly Period = iota + 1
	Daily
)

// ParsePeriod reads "hourly" or "daily".
func ParsePeriod(s string) (Period, error) {
	switch s {
	case "hourly":
		return Hourly, nil
	case "daily":
		return Daily, nil
	}
	return 0, fmt.Errorf("period %q is unknown: use hourly or daily", s)
}

func (p Period) String() string {
	switch p {
	case Hourly:
		return "hourly"
	case Daily:
		return "daily"
	default:
		return "none"
	}
}

// hours returns how many hours a period has.
func (p Period) hours() int64 {
	if p == Daily {
		return dayHours
	}
	return 1
}

// start returns the beginning of a period, counted from 1970.
func (p Period) start(n int64) time.Time { return time.Unix(n*p.hours()*hourSeconds, 0).UTC() }
