package timefmt_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/varvedb/varve/timefmt"
	"pgregory.net/rapid"
)

const (
	day  = 24 * time.Hour
	year = 365 * day
)

func TestParseDuration_Examples(t *testing.T) {
	tests := []struct {
		reason, in string
		want       time.Duration
		ok         bool
	}{
		{"forever", "forever", timefmt.Forever, true},
		{"years of 365 days", "1y", year, true},
		{"weeks", "6w", 42 * day, true},
		{"days", "90d", 90 * day, true},
		{"hours", "36h", 36 * time.Hour, true},
		{"minutes", "15m", 15 * time.Minute, true},
		{"seconds", "45s", 45 * time.Second, true},
		{"all units", "1y2w3d4h5m6s", year + 17*day + 4*time.Hour + 5*time.Minute + 6*time.Second, true},
		{"units left out", "1y6h", year + 6*time.Hour, true},
		{"nothing", "0s", 0, true},
		{"nothing of several", "0d0h", 0, true},
		{"leading zeros", "007d", 7 * day, true},
		{"as long as can be", "9223372036s", 9223372036 * time.Second, false}, // more seconds than fit into 31 bits
		{"31 bits of seconds", "2147483647s", 2147483647 * time.Second, true},
		{"31 bits and one", "2147483648s", 0, false},
		{"292 years", "292y", 292 * year, true},
		{"293 years, more than a duration holds", "293y", 0, false},
		{"a sum that is more than a duration holds", "292y99999d", 0, false},
		{"empty", "", 0, false},
		{"no number", "d", 0, false},
		{"no unit", "90", 0, false},
		{"a number behind", "1d12", 0, false},
		{"units out of order", "1h1d", 0, false},
		{"a unit twice", "1d1d", 0, false},
		{"another unit", "1ms", 0, false},
		{"months", "1mo", 0, false},
		{"Go's microseconds", "1us", 0, false},
		{"a fraction", "1.5d", 0, false},
		{"a minus", "-1d", 0, false},
		{"a plus", "+1d", 0, false},
		{"a separator", "1_000d", 0, false},
		{"a blank inside", "1d 12h", 0, false},
		{"a blank before", " 1d", 0, false},
		{"capitals", "1D", 0, false},
		{"Forever", "Forever", 0, false},
		{"forever and more", "forever1d", 0, false},
		{"digits of another script", "١d", 0, false},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			got, err := timefmt.ParseDuration(tt.in)
			if (err == nil) != tt.ok || tt.ok && got != tt.want || !tt.ok && got != 0 {
				t.Errorf("%q is %v, %v, want %v, ok %t", tt.in, got, err, tt.want, tt.ok)
			}
			if err != nil && (!strings.Contains(err.Error(), tt.in) || !strings.Contains(err.Error(), "90d")) {
				t.Errorf("the message does not help: %v", err)
			}
		})
	}
}

// TestParseDuration_StatesLimit checks that the error for a duration above the limit names the limit,
// and does not call the duration malformed.
func TestParseDuration_StatesLimit(t *testing.T) {
	for _, text := range []string{"10000y", "292y99999d", "99999999999999999999y"} {
		if _, err := timefmt.ParseDuration(text); err == nil || !strings.Contains(err.Error(), "too long") {
			t.Errorf("%s: %v, want the limit", text, err)
		}
	}
}

func TestFormatDuration_Examples(t *testing.T) {
	for want, in := range map[string]time.Duration{
		"forever": timefmt.Forever, "0s": 0, "1s": time.Second, "1m": time.Minute, "1h30m": 90 * time.Minute,
		"1d": day, "36h0m0.5s": 36*time.Hour + 500*time.Millisecond, "1d12h": 36 * time.Hour,
		"6d": 6 * day, "1w": 7 * day, "30d": 30 * day, "2w": 14 * day, "90d": 90 * day,
		"1y": year, "1y1w": year + 7*day, "1y8d": year + 8*day, "7d1s": 7*day + time.Second, "100y": 100 * year,
		"-1h0m0s": -time.Hour, "1ns": 1, "2562047h47m16.854775806s": math.MaxInt64 - 1,
	} {
		if got := timefmt.FormatDuration(in); got != want {
			t.Errorf("%d is written %s, want %s", in, got, want)
		}
	}
}

// TestDuration_RoundTrip checks that parsing a formatted duration returns the duration, for whole
// seconds up to the longest retention.
func TestDuration_RoundTrip(t *testing.T) {
	gen := rapid.OneOf(
		rapid.Int64Range(0, int64(100*year/time.Second)),
		rapid.Int64Range(0, 100*int64(time.Hour/time.Second)),
		rapid.Map(rapid.Int64Range(0, 36500), func(days int64) int64 { return days * int64(day/time.Second) }),
	)
	for range 10 {
		rapid.Check(t, func(t *rapid.T) {
			d := time.Duration(gen.Draw(t, "seconds")) * time.Second
			text := timefmt.FormatDuration(d)
			if got, err := timefmt.ParseDuration(text); err != nil || got != d {
				t.Fatalf("%d is written %s and read as %d, %v", d, text, got, err)
			}
		})
	}
}

func FuzzParseDuration(f *testing.F) {
	for _, seed := range []string{"forever", "1y2w3d4h5m6s", "90d", "0s", "", "d", "1h1d", "292y99999d", "2147483648s", "-1d", "1.5d", "1d1d", "１d"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := timefmt.ParseDuration(text)
		if err != nil {
			if d != 0 {
				t.Fatalf("%q: %v and %v", text, d, err)
			}
			return
		}
		if d < 0 || d != timefmt.Forever && (d%time.Second != 0 || strings.Trim(text, "0123456789ywdhms") != "") {
			t.Fatalf("%q is %v", text, d)
		}
		if again, err := timefmt.ParseDuration(timefmt.FormatDuration(d)); err != nil || again != d {
			t.Fatalf("%q is %d, written %s, read as %d, %v", text, d, timefmt.FormatDuration(d), again, err)
		}
	})
}
