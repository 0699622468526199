package rotator_test

import (
	"github.com/varvedb/varve/rotator"
	"strings"
	"testing"
	"time"
)

// TestParseSchedule_AcceptsCron checks the next time of each form of cron schedule, in UTC.
func TestParseSchedule_AcceptsCron(t *testing.T) {
	at := time.Date(2026, 10, 31, 23, 30, 0, 0, time.UTC)
	for _, c := range []struct {
		spec string
		next time.Time
	}{
		{"@hourly", time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)},
		{"@every 30m", time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)},
		{"@every 1m", time.Date(2026, 10, 31, 23, 31, 0, 0, time.UTC)},
		{"*/15 * * * *", time.Date(2026, 10, 31, 23, 45, 0, 0, time.UTC)},
		{"5 3 * * MON", time.Date(2026, 11, 2, 3, 5, 0, 0, time.UTC)},
		{"0 0 29 2 *", time.Date(2028, 2, 29, 0, 0, 0, 0, time.UTC)},
	} {
		s, err := rotator.ParseSchedule(c.spec)
		if err != nil {
			t.Errorf("%q: %v", c.spec, err)
			continue
		}
		if next := s.Next(at); !next.Equal(c.next) {
			t.Errorf("%q after %s: got %s, want %s", c.spec, at, next, c.next)
		}
	}
}

// TestParseSchedule_RejectsMalformed checks that each malformed schedule gives an error with a
// remedy.
func TestParseSchedule_RejectsMalformed(t *testing.T) {
	for _, spec := range []string{
		"", " ", "hourly", "@hour", "* * * *", "* * * * * *", "60 * * * *", "* 24 * * *", "a b c d e",
		"TZ=0", "TZ=", "TZ=UTC * * * * *", "CRON_TZ=", "CRON_TZ=Europe/Berlin 0 0 * * *", "TZ=\n",
		"@every", "@every x", "@every 0s", "@every -1h", "@every 59s", "@every 1ns",
		"0 0 31 2 *", "0 0 30 2 *", "*/0 * * * *", "5-1 * * * *", "\x00", "@",
	} {
		s, err := rotator.ParseSchedule(spec)
		if err == nil || s != nil {
			t.Errorf("%q is taken for a schedule: %v", spec, s)
			continue
		}
		if !strings.HasPrefix(err.Error(), "schedule ") || len(err.Error()) < 25 {
			t.Errorf("%q: %v", spec, err)
		}
	}
}

// FuzzParseSchedule checks that ParseSchedule never panics. Each accepted schedule must occur,
// and at most once a minute.
func FuzzParseSchedule(f *testing.F) {
	for _, spec := range []string{"@hourly", "@every 1h30m", "*/5 1-3 * JAN,DEC MON-FRI", "TZ=0 * * * * *", "0 0 29 2 *", "@every 1s"} {
		f.Add(spec)
	}
	at := time.Date(2026, 10, 31, 23, 30, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, spec string) {
		s, err := rotator.ParseSchedule(spec)
		if err != nil {
			return
		}
		for now, n := at, 0; n < 3; n++ {
			next := s.Next(now)
			if next.IsZero() || n > 0 && next.Sub(now) < time.Minute {
				t.Fatalf("%q after %s: %s", spec, now, next)
			}
			now = next
		}
	})
}
