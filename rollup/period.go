package rollup

import (
	"fmt"
	"maps"
	"slices"
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

// spans returns the hours of slots as runs, in their order.
func spans[V any](slots map[slot]V) (list []span) {
	hours := map[int64]bool{}
	for s := range slots {
		hours[s.hour] = true
	}
	for _, h := range slices.Sorted(maps.Keys(hours)) {
		if n := len(list); n > 0 && list[n-1].to == h {
			list[n-1].to++
			continue
		}
		list = append(list, span{h, h + 1})
	}
	return list
}

// slotsOf returns what marks say is dirty, within a span.
func slotsOf(marks []mark, within span) map[slot]bool {
	dirty := map[slot]bool{}
	for _, m := range marks {
		for h := max(m.from, within.from); h < min(m.from+m.hours, within.to); h++ {
			dirty[slot{h, m.arrival}] = true
		}
	}
	return dirty
}
