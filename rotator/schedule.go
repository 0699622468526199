package rotator

import (
	"fmt"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// ParseSchedule parses a cron schedule in UTC. A schedule has five fields, or is a form such as
// @hourly or @every 12h.
//
// ParseSchedule refuses time zones, which the cron library does not verify. It also refuses
// schedules that never occur, such as 31 February, or occur more than once a minute. It refuses ones with
// three days between two runs, because expireGuard then lets no reading be deleted.
func ParseSchedule(spec string) (s cron.Schedule, err error) {
	if strings.Contains(spec, "TZ=") {
		return nil, fmt.Errorf("schedule %q: schedules are in UTC, leave the time zone out", spec)
	}
	// The cron library panics for some malformed texts. Return an error instead.
	defer func() {
		if p := recover(); p != nil {
			s, err = nil, fmt.Errorf("schedule %q cannot be read", spec)
		}
	}()
	if s, err = cron.ParseStandard(spec); err != nil {
		return nil, fmt.Errorf("schedule %q: %w: write five fields as for cron, or @hourly, or @every 30m", spec, err)
	}
	some := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	first := s.Next(some)
	switch {
	case first.IsZero():
		return nil, fmt.Errorf("schedule %q names a day that never comes", spec)
	case s.Next(first).Sub(first) < time.Minute:
		return nil, fmt.Errorf("schedule %q comes more than once a minute", spec)
	case longestGap(s, some) >= maxExpireGap:
		return nil, fmt.Errorf("schedule %q has 3 days or more between two runs, so expired readings would never be deleted: use a time of each day", spec)
	}
	return s, nil
}

// longestGap returns the longest time without a run within a year. If that is below two days, the result may be
// less.
func longestGap(s cron.Schedule, from time.Time) (longest time.Duration) {
	const skip = 36 * time.Hour // so that schedules with a run each minute take few steps
	run := s.Next(from)
	longest = run.Sub(from)
	for end := from.AddDate(1, 0, 0); run.Before(end); {
		next := s.Next(run.Add(skip))
		if next.Sub(run) > 48*time.Hour {
			for last := run; last.Before(next); {
				one := s.Next(last)
				longest, last = max(longest, one.Sub(last)), one
			}
		}
		run = next
	}
	return longest
}
