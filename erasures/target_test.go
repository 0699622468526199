package erasures

import (
	"testing"
	"time"

	"github.com/varvedb/varve"
)

// TestTarget_RefusesWindowsOutsideOfAllTime checks that a window has only valid event times. A record
// stores nanoseconds, so other times would become wrong ones, and the erasure would find nothing.
func TestTarget_RefusesWindowsOutsideOfAllTime(t *testing.T) {
	all := varve.AllTime()
	for _, c := range []struct {
		window varve.Window
		want   string
	}{
		{all, ""},
		{varve.Window{From: all.From, To: time.Date(2262, 1, 1, 0, 0, 0, 0, time.UTC)}, ""},
		{varve.Window{From: all.From, To: time.Date(2300, 1, 1, 0, 0, 0, 0, time.UTC)}, "to: is after 2262-04-11T23:47:16.854775807Z: use that time"},
		{varve.Window{From: all.From, To: all.To.Add(1)}, "to: is after 2262-04-11T23:47:16.854775807Z: use that time"},
		{varve.Window{From: time.Date(1900, 1, 1, 0, 0, 0, 0, time.UTC), To: all.To}, "from: is before 1970-01-01T00:00:00Z: use that time"},
	} {
		target := Target{Tenant: varve.DefaultTenant, Device: "d", Window: c.window}
		got := ""
		if err := target.Validate(); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%v: %q, want %q", c.window, got, c.want)
		}
	}
}
