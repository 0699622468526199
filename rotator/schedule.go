package rotator

import (
	"fmt"
	"strings"

	"github.com/robfig/cron/v3"
)

// ParseSchedule reads a cron schedule: five fields, or @hourly, @every 30m and
// their like, in UTC. Time zones are refused: cron takes them on trust.
func ParseSchedule(spec string) (s cron.Schedule, err error) {
	if strings.Contains(spec, "TZ=") {
		return nil, fmt.Errorf("schedule %q: schedules are in UTC, leave the time zone out", spec)
	}
	// The parser panics on some malformed texts.
	defer func() {
		if p := recover(); p != nil {
			s, err = nil, fmt.Errorf("schedule %q cannot be read", spec)
		}
	}()
	if s, err = cron.ParseStandard(spec); err != nil {
		return nil, fmt.Errorf("schedule %q: %w: write five fields as for cron, or @hourly, or @every 30m", spec, err)
	}
	return s, nil
}
