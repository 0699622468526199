package timefmt_test

import (
	"testing"
	"time"

	"github.com/varvedb/varve/timefmt"
)

func TestParseTime_AcceptsLeapSeconds(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"2016-12-31T23:59:60Z", "2017-01-01T00:00:00Z"},
		{"2016-12-31T23:59:60.25Z", "2017-01-01T00:00:00.25Z"},
		{"2017-01-01T05:29:60+05:30", "2017-01-01T00:00:00Z"},
		{"2016-12-31T23:59:59.999Z", "2016-12-31T23:59:59.999Z"},
		{"2016-12-31T23:59:61Z", ""},
		{"2016-12-31T23:60:60Z", ""},
		{"2016-12-31T23:59:60", ""},
		{":60", ""},
		{"2016-12-31T12:34:60Z", ""},
		{"2016-12-30T23:59:60Z", ""},
		{"2016-12-31T23:59:60+01:00", ""},
		{"2015-06-30T23:59:60Z", "2015-07-01T00:00:00Z"},
	} {
		at, err := timefmt.ParseTime(time.RFC3339, tt.text, time.UTC)
		got := at.UTC().Format(time.RFC3339Nano)
		if err != nil {
			got = ""
		}
		if got != tt.want {
			t.Errorf("%s: %q (%v), want %q", tt.text, got, err, tt.want)
		}
	}
}
