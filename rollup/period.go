package rollup

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/varvedb/varve"
)

const (
	hourSeconds = int64(time.Hour / time.Second)
	daySeconds  = 24 * hourSeconds
	dayHours    = 24
)

func hourOf(sec int64) int64 { return sec / hourSeconds }

func dayOf(sec int64) int64 { return sec / daySeconds }

// dayText formats a day, as in 20261121.
func dayText(day int64) string { return time.Unix(day*daySeconds, 0).UTC().Format("20060102") }

func parseDay(text string) (int64, error) {
	t, err := time.Parse("20060102", text)
	return dayOf(t.Unix()), err
}

// Period is the length of the time that one roll-up covers.
type Period uint8

// The lengths that a Period may have. The zero value is invalid.
const (
	Hourly Period = iota + 1
	Daily
)

// ParsePeriod parses "hourly" or "daily".
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

func (p Period) hours() int64 {
	if p == Daily {
		return dayHours
	}
	return 1
}

// start returns the beginning of period n, where period 0 begins with 1970.
func (p Period) start(n int64) time.Time { return time.Unix(n*p.hours()*hourSeconds, 0).UTC() }

// slot identifies one partial by its hour and arrival day. For the partial of a day, hour is the
// number of the day.
type slot struct{ hour, arrival int64 }

func (at slot) String() string {
	return fmt.Sprintf("%s, as of %s", Hourly.start(at.hour).Format(time.RFC3339), dayText(at.arrival))
}

// span is a range of hours. It includes the hour "from" and excludes the hour "to".
type span struct{ from, to int64 }

func daySpan(day int64) span { return span{day * dayHours, (day + 1) * dayHours} }

func (h span) window() varve.Window {
	return varve.Window{From: Hourly.start(h.from), To: Hourly.start(h.to)}
}

// splitByDay returns a map of each day with the slots whose hours are on the day.
func splitByDay[M ~map[slot]V, V any](slots M) map[int64]M {
	days := map[int64]M{}
	for at, v := range slots {
		day := at.hour / dayHours
		if days[day] == nil {
			days[day] = M{}
		}
		days[day][at] = v
	}
	return days
}

func slotsByHour[V any](slots map[slot]V) map[int64][]slot {
	hours := map[int64][]slot{}
	for at := range slots {
		hours[at.hour] = append(hours[at.hour], at)
	}
	return hours
}

// spansOf returns the hours of slots as spans. It joins adjacent hours, and returns the spans in
// order.
func spansOf[V any](slots map[slot]V) (list []span) {
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
