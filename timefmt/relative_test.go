package timefmt_test

import (
	"strings"
	"testing"
	"time"

	"github.com/varvedb/varve/timefmt"
)

// TestParseRelative_Examples parses all forms, in UTC and in a zone whose day differs.
func TestParseRelative_Examples(t *testing.T) {
	auckland, err := time.LoadLocation("Pacific/Auckland")
	if err != nil {
		t.Fatal(err)
	}
	havana, err := time.LoadLocation("America/Havana")
	if err != nil {
		t.Fatal(err)
	}
	asuncion, err := time.LoadLocation("America/Asuncion")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		text, now string
		zone      *time.Location
		want      string
	}{
		{"now", "2026-11-18T12:30:00Z", time.UTC, "2026-11-18T12:30:00Z"},
		{"today", "2026-11-18T12:30:00Z", time.UTC, "2026-11-18T00:00:00Z"},
		{"today", "2026-11-18T12:30:00Z", auckland, "2026-11-18T11:00:00Z"}, // it is November 19 there
		{"yesterday", "2026-11-01T12:30:00Z", time.UTC, "2026-10-31T00:00:00Z"},
		{"-24h", "2026-11-18T12:30:00Z", time.UTC, "2026-11-17T12:30:00Z"},
		{"+1w1d", "2026-11-18T12:30:00Z", time.UTC, "2026-11-26T12:30:00Z"},
		{"-1mo", "2026-11-18T12:30:00Z", time.UTC, "2026-10-18T12:30:00Z"},
		{"-1mo", "2026-03-31T12:30:00Z", time.UTC, "2026-02-28T12:30:00Z"},
		{"-1mo", "2024-03-31T12:30:00Z", time.UTC, "2024-02-29T12:30:00Z"},
		{"-13mo", "2026-01-31T12:30:00Z", time.UTC, "2024-12-31T12:30:00Z"},
		{"+3mo", "2026-11-30T12:30:00Z", time.UTC, "2027-02-28T12:30:00Z"},
		{"-1mo", "2026-10-10T12:30:00Z", auckland, "2026-09-10T13:30:00Z"}, // summer time began in between
		{"-0mo", "2026-11-18T12:30:00Z", time.UTC, "2026-11-18T12:30:00Z"},
		{"-1m", "2026-11-18T12:30:00Z", time.UTC, "2026-11-18T12:29:00Z"}, // a minute
		{"2026-11", "2026-11-18T12:30:00Z", time.UTC, "2026-11-01T00:00:00Z"},
		{"2024-02", "2026-11-18T12:30:00Z", auckland, "2024-01-31T11:00:00Z"},
		// In the next three rows, the clocks skip the first hour of the resulting day.
		{"today", "2026-03-08T12:30:00Z", havana, "2026-03-08T05:00:00Z"},
		{"yesterday", "2026-03-09T12:30:00Z", havana, "2026-03-08T05:00:00Z"},
		{"2017-10", "2026-11-18T12:30:00Z", asuncion, "2017-10-01T04:00:00Z"},
		{"-110mo", "2026-12-15T12:30:00Z", asuncion, "2017-10-15T12:30:00Z"},
	} {
		now, err := time.Parse(time.RFC3339, c.now)
		if err != nil {
			t.Fatal(err)
		}
		got, ok, err := timefmt.ParseRelative(c.text, now, c.zone)
		if text := got.UTC().Format(time.RFC3339); err != nil || !ok || text != c.want {
			t.Errorf("%s at %s in %s: %s, %t, %v, want %s", c.text, c.now, c.zone, text, ok, err, c.want)
		}
	}
	for _, other := range []string{"", "-", "2026", "2026-11-18", "1700000000000", "-1", "Today", "tomorrow", "2026-1", "2026/11", "2026-11-18T00:00:00Z"} {
		if got, ok, err := timefmt.ParseRelative(other, time.Now(), time.UTC); ok || err != nil {
			t.Errorf("%q: %v, %v", other, got, err)
		}
	}
	for bad, remedy := range map[string]string{"-mo": "-1mo", "-1.5mo": "-1mo", "-1mo1d": "-1mo", "-1x2h": "-24h", "+9999mo": "-1mo", "-99999999999d": "-24h", "-forevermo": "-1mo", "2026-13": "2026-11", "1969-12": "2026-11"} {
		if got, ok, err := timefmt.ParseRelative(bad, time.Now(), time.UTC); !ok || err == nil || !strings.Contains(err.Error(), remedy) || !strings.Contains(err.Error(), bad) {
			t.Errorf("%q: %v, %t, %v, want an error with %s", bad, got, ok, err, remedy)
		}
	}
}

func FuzzParseRelative(f *testing.F) {
	for _, seed := range []string{"now", "today", "yesterday", "-24h", "+1w1d", "-1mo", "+3504mo", "2026-11", "-mo", "2026-13", "+", "-9999999mo", "-292y", "1970-01"} {
		f.Add(seed)
	}
	now := time.Date(2026, 3, 31, 12, 30, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, text string) {
		got, ok, err := timefmt.ParseRelative(text, now, time.UTC)
		if (!ok || err != nil) && !got.IsZero() || !ok && err != nil {
			t.Fatalf("%q: %v, %t, %v", text, got, ok, err)
		}
		number, isMonths := strings.CutSuffix(text, "mo")
		if err != nil || !ok || !isMonths || number == "" {
			return
		}
		// The same number of months in the other direction must be as far from now, by year and month.
		other := strings.NewReplacer("-", "+", "+", "-").Replace(text)
		back, _, err := timefmt.ParseRelative(other, now, time.UTC)
		months := func(at time.Time) int { return at.Year()*12 + int(at.Month()) }
		if err != nil || months(got)+months(back) != 2*months(now) {
			t.Fatalf("%q is %v, and %q is %v: %v", text, got, other, back, err)
		}
	})
}
