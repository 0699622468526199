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
// schedules that never occur, such as 31 February, or occur more than once a minute.
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
	}
	return s, nil
}
