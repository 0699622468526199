package aggregate_test

import (
	"strings"
	"testing"
	"time"

	"github.com/varvedb/varve/aggregate"
	"pgregory.net/rapid"
)

func zone(t interface{ Fatalf(string, ...any) }, name string) *time.Location {
	z, err := time.LoadLocation(name)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return z
}

func parseStep(t interface{ Fatalf(string, ...any) }, text, in string) aggregate.Step {
	s, err := aggregate.ParseStep(text, zone(t, in))
	if err != nil {
		t.Fatalf("step %s in %s: %v", text, in, err)
	}
	return s
}

func TestBucketAt_Examples(t *testing.T) {
	for _, c := range []struct{ step, zone, at, start, end string }{
		{"5m", "UTC", "2026-03-29T12:34:56Z", "2026-03-29T12:30:00Z", "2026-03-29T12:35:00Z"},
		{"7h", "UTC", "1970-01-01T13:00:00Z", "1970-01-01T07:00:00Z", "1970-01-01T14:00:00Z"},
		{"1d", "UTC", "2026-03-29T12:00:00Z", "2026-03-29T00:00:00Z", "2026-03-30T00:00:00Z"},
		{"24h", "Europe/Berlin", "2026-03-29T12:00:00Z", "2026-03-29T00:00:00+01:00", "2026-03-30T00:00:00+02:00"},
		{"1d", "Europe/Berlin", "2026-10-25T22:59:59Z", "2026-10-25T00:00:00+02:00", "2026-10-26T00:00:00+01:00"},
		{"1h", "Europe/Berlin", "2026-10-25T01:30:00Z", "2026-10-25T02:00:00+01:00", "2026-10-25T03:00:00+01:00"},
		{"6h", "Europe/Berlin", "2026-03-29T21:00:00Z", "2026-03-29T19:00:00+02:00", "2026-03-30T00:00:00+02:00"},
		{"1h", "Asia/Kolkata", "2026-03-29T12:00:00Z", "2026-03-29T17:00:00+05:30", "2026-03-29T18:00:00+05:30"},
		{"1w", "UTC", "2026-11-22T12:00:00Z", "2026-11-16T00:00:00Z", "2026-11-23T00:00:00Z"},
		{"1w", "Europe/Berlin", "2026-11-22T23:30:00Z", "2026-11-23T00:00:00+01:00", "2026-11-30T00:00:00+01:00"},
		{"1mo", "Europe/Berlin", "2026-10-31T22:30:00Z", "2026-10-01T00:00:00+02:00", "2026-11-01T00:00:00+01:00"},
		{"3mo", "UTC", "2026-11-22T12:00:00Z", "2026-10-01T00:00:00Z", "2027-01-01T00:00:00Z"},
		{"1y", "UTC", "2026-11-22T12:00:00Z", "2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z"},
		{"1d", "UTC", "1970-01-01T00:00:00Z", "1970-01-01T00:00:00Z", "1970-01-02T00:00:00Z"},
		{"1w", "UTC", "1970-01-01T00:00:00Z", "1969-12-29T00:00:00Z", "1970-01-05T00:00:00Z"},
		// Midnight is skipped.
		{"1d", "America/Sao_Paulo", "2017-10-15T12:00:00Z", "2017-10-15T01:00:00-02:00", "2017-10-16T00:00:00-02:00"},
		// Midnight occurs twice.
		{"1d", "America/Havana", "2026-11-01T12:00:00Z", "2026-11-01T00:00:00-04:00", "2026-11-02T00:00:00-05:00"},
		// A day is skipped.
		{"1d", "Pacific/Apia", "2011-12-30T09:00:00Z", "2011-12-29T00:00:00-10:00", "2011-12-31T00:00:00+14:00"},
		// Clocks are put back past midnight, to 23:01 of the day before.
		{"1d", "America/St_Johns", "2006-10-29T03:00:00Z", "2006-10-29T00:00:00-02:30", "2006-10-30T00:00:00-03:30"},
	} {
		at, err := time.Parse(time.RFC3339, c.at)
		if err != nil {
			t.Fatal(err)
		}
		z := zone(t, c.zone)
		b := parseStep(t, c.step, c.zone).BucketAt(at.Unix())
		start, end := time.Unix(b.Start, 0).In(z).Format(time.RFC3339), time.Unix(b.End, 0).In(z).Format(time.RFC3339)
		if start != c.start || end != c.end {
			t.Errorf("%s of %s in %s: got %s to %s, want %s to %s", c.step, c.at, c.zone, start, end, c.start, c.end)
		}
	}
}

func TestParseStep_RefusesOthers(t *testing.T) {
	for _, c := range []struct{ step, zone, problem string }{
		{"", "UTC", "missing"}, {"0s", "UTC", "is not a step"}, {"0d", "UTC", "is not a step"}, {"5", "UTC", "is not a step"},
		{"-5m", "UTC", "is not a step"}, {"forever", "UTC", "too long"}, {"1w2d", "UTC", "is not a step"}, {"1y6h", "UTC", "is not a step"},
		{"500ms", "UTC", "is not a step"}, {"7h", "Europe/Berlin", "does not divide a day"}, {"36h", "Europe/Berlin", "does not divide a day"},
		{"101y", "UTC", "too long"}, {"1300mo", "UTC", "too long"},
	} {
		if _, err := aggregate.ParseStep(c.step, zone(t, c.zone)); err == nil || !strings.Contains(err.Error(), c.problem) {
			t.Errorf("%q in %s: got %v, want %q", c.step, c.zone, err, c.problem)
		}
	}
}

// TestBucketAt_DividesTime checks that each bucket contains its times, that each bucket begins
// where the one before it ends, and that calendar buckets begin where the local date changes.
func TestBucketAt_DividesTime(t *testing.T) {
	zones := []string{"UTC", "Europe/Berlin", "America/New_York", "America/Sao_Paulo", "America/Havana", "America/St_Johns",
		"Pacific/Apia", "Australia/Lord_Howe", "Asia/Kolkata", "Asia/Kathmandu", "Africa/Casablanca", "Asia/Gaza"}
	rapid.Check(t, func(t *rapid.T) {
		z := rapid.SampledFrom(zones).Draw(t, "zone")
		text := rapid.SampledFrom([]string{"1s", "5m", "90m", "1h", "6h", "12h", "1d", "2d", "10d", "1w", "2w", "1mo", "3mo", "1y"}).Draw(t, "step")
		s := parseStep(t, text, z)
		at := rapid.Int64Range(0, 3e9).Draw(t, "at")
		b := s.BucketAt(at)
		if !b.Contains(at) {
			t.Fatalf("%s in %s: bucket %v does not contain %d", text, z, b, at)
		}
		if next := s.BucketAt(b.End); next.Start != b.End {
			t.Fatalf("%s in %s: bucket %v is followed by %v", text, z, b, next)
		}
		if before := s.BucketAt(b.Start - 1); before.End != b.Start {
			t.Fatalf("%s in %s: bucket %v follows %v", text, z, b, before)
		}
		if same := s.BucketAt(b.End - 1); same != b {
			t.Fatalf("%s in %s: the end of %v is in %v", text, z, b, same)
		}
		if strings.ContainsAny(text, "dwoy") {
			date := func(sec int64) string { return time.Unix(sec, 0).In(zone(t, z)).Format(time.DateOnly) }
			if z != "America/St_Johns" && date(b.Start) == date(b.Start-1) {
				t.Fatalf("%s in %s: bucket %v begins within %s", text, z, b, date(b.Start))
			}
		}
	})
}
