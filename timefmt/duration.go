// Package timefmt parses durations, times and windows, and formats durations.
//
// It has the syntax of the settings, the API and the command line:
//
//   - [ParseDuration] and [FormatDuration] convert durations such as 90d, 1d12h and forever.
//   - [ParseTime] parses a time with a layout, and accepts leap seconds.
//   - [ParseRelative] parses times such as now, yesterday, -24h and 2026-11.
//   - [ParseWindow] parses a year, month, day, hour or minute as a window.
//   - [FirstInstant] converts a wall time to an instant, even if clocks skip it.
//
// A formatted duration parses to the same duration, unless it is negative or has a fraction of a
// second. Most errors about a text show how to write it. The package reads no clock: callers pass
// the present time and the zone. All functions are pure.
package timefmt

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

const day = 24 * time.Hour

// Forever is the duration without an end.
const Forever = time.Duration(math.MaxInt64)

// units are the units of a duration, from the largest to the smallest. A year has 365 days.
var units = []struct {
	name string
	unit time.Duration
}{{"y", 365 * day}, {"w", 7 * day}, {"d", day}, {"h", time.Hour}, {"m", time.Minute}, {"s", time.Second}}

// ParseDuration parses "forever", or whole numbers with units such as 90d or 1y6h.
//
// The units are y (365 days), w, d, h, m and s. They must be in this order.
func ParseDuration(s string) (time.Duration, error) {
	if s == "forever" {
		return Forever, nil
	}
	long := fmt.Errorf("%q is too long: use large units as in 90d, at most 292y, or forever", s)
	wrong := fmt.Errorf("%q is not a duration: write forever, or numbers with y, w, d, h, m, s as in 90d or 1d12h", s)
	var total time.Duration
	rest := s
	for _, u := range units {
		i := strings.Index(rest, u.name)
		if i < 0 {
			continue
		}
		n, err := strconv.ParseUint(rest[:i], 10, 31)
		switch {
		case errors.Is(err, strconv.ErrRange), err == nil && time.Duration(n) > (Forever-total)/u.unit:
			return 0, long
		case err != nil:
			return 0, wrong
		}
		total += time.Duration(n) * u.unit
		rest = rest[i+1:]
	}
	if rest != "" || s == "" {
		return 0, wrong
	}
	return total, nil
}

// FormatDuration formats a duration in the syntax of [ParseDuration]. That syntax has no signs and no
// fractions of a second, so durations with one of them are formatted as in Go.
func FormatDuration(d time.Duration) string {
	switch {
	case d == Forever:
		return "forever"
	case d == 0:
		return "0s"
	case d < 0 || d%time.Second != 0:
		return d.String()
	}
	var b strings.Builder
	for _, u := range units {
		if u.name == "w" && d%(7*day) != 0 { // 30d is easier to read than 4w2d
			continue
		}
		if n := d / u.unit; n > 0 {
			fmt.Fprintf(&b, "%d%s", int64(n), u.name)
			d %= u.unit
		}
	}
	return b.String()
}
