package timefmt_test

import (
	"testing"
	"time"

	"github.com/varvedb/varve/timefmt"
)

func TestParseWindow_Examples(t *testing.T) {
	for _, c := range []struct{ text, from, to string }{
		{"2024", "2024-01-01T00:00:00Z", "2025-01-01T00:00:00Z"},
		{"2024-02", "2024-02-01T00:00:00Z", "2024-03-01T00:00:00Z"},
		{"2024-12", "2024-12-01T00:00:00Z", "2025-01-01T00:00:00Z"},
		{"2024-02-28", "2024-02-28T00:00:00Z", "2024-02-29T00:00:00Z"},
		{"2024-12-31T23", "2024-12-31T23:00:00Z", "2025-01-01T00:00:00Z"},
		{"2024-12-01T14:59", "2024-12-01T14:59:00Z", "2024-12-01T15:00:00Z"},
		{"1970", "1970-01-01T00:00:00Z", "1971-01-01T00:00:00Z"},
		{"2261", "2261-01-01T00:00:00Z", "2262-01-01T00:00:00Z"},
	} {
		w, err := timefmt.ParseWindow(c.text)
		if got := w.From.Format(time.RFC3339) + " " + w.To.Format(time.RFC3339); err != nil || got != c.from+" "+c.to {
			t.Errorf("%s: %s, %v", c.text, got, err)
		}
	}
	for _, bad := range []string{"", "24", "1969", "2262", "2024-13", "2024-1", "2024-02-30", "2024-12-01T24", "2024-12-01 14", "2024-12-01T14:60", "2024-12-01T14:00:00Z", "-24h", "x024"} {
		if w, err := timefmt.ParseWindow(bad); err == nil {
			t.Errorf("%q is %v", bad, w)
		}
	}
}
