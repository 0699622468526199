package timefmt

import (
	"fmt"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/internal/quote"
)

// granularities are the formats of texts that ParseWindow accepts, with the length of their
// windows.
var granularities = []struct {
	layout string
	end    func(time.Time) time.Time
}{
	{"2006", func(t time.Time) time.Time { return t.AddDate(1, 0, 0) }},
	{"2006-01", func(t time.Time) time.Time { return t.AddDate(0, 1, 0) }},
	{"2006-01-02", func(t time.Time) time.Time { return t.AddDate(0, 0, 1) }},
	{"2006-01-02T15", func(t time.Time) time.Time { return t.Add(time.Hour) }},
	{"2006-01-02T15:04", func(t time.Time) time.Time { return t.Add(time.Minute) }},
}

// ParseWindow parses a year, month, day, hour or minute in UTC, as the window from its beginning to
// its end.
//
// Examples are 2024, 2024-12, 2024-12-01, 2024-12-01T14 and 2024-12-01T14:30.
func ParseWindow(s string) (varve.Window, error) {
	for _, g := range granularities {
		if len(s) != len(g.layout) {
			continue
		}
		t, err := time.Parse(g.layout, s)
		w := varve.Window{From: t, To: g.end(t)}
		if err == nil && !t.Before(varve.AllTime().From) && !w.To.After(varve.AllTime().To) {
			return w, nil
		}
	}
	return varve.Window{}, fmt.Errorf("%s is not a year, month, day, hour or minute from 1970 to 2261: write it as in 2024-12, 2024-12-01 or 2024-12-01T14", quote.Text(s))
}
