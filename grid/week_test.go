package grid_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
)

// TestMonth_ContainsItsTimes checks that a month includes its start and excludes its end, in any
// time zone.
func TestMonth_ContainsItsTimes(t *testing.T) {
	checkMany(t, func(t *rapid.T) {
		zone := time.FixedZone("", rapid.IntRange(-12*3600, 14*3600).Draw(t, "zone"))
		at := time.Unix(0, rapid.Int64Range(0, lastMonth.End().UnixNano()-1).Draw(t, "at")).In(zone)
		m := grid.MonthOf(at)
		if at.Before(m.Start()) || !at.Before(m.End()) || m.End() != (m+1).Start() {
			t.Fatalf("%s is put into %s, from %s to %s", at, m, m.Start(), m.End())
		}
		if m.String() != at.UTC().Format("2006-01") || grid.NewMonth(m.Year(), m.Calendar()) != m {
			t.Fatalf("%s is put into %s: %d, %d", at, m, m.Year(), m.Calendar())
		}
		if grid.MonthOf(m.Start()) != m || grid.MonthOf(m.End().Add(-1)) != m || grid.MonthOf(m.End()) != m+1 {
			t.Fatalf("%s does not hold its ends", m)
		}
	})
	if got := grid.NewMonth(2026, time.December) + 1; got.String() != "2027-01" {
		t.Errorf("December 2026 is followed by %s", got)
	}
}

// TestRange_EqualsItsWindow checks that Contains and Overlaps return the same for a range as for
// its window.
func TestRange_EqualsItsWindow(t *testing.T) {
	checkMany(t, func(t *rapid.T) {
		r := genTable().Draw(t, "table").Range
		w := r.Window()
		at := time.Unix(0, rapid.OneOf(
			rapid.Int64Range(0, lastMonth.End().UnixNano()),
			rapid.SampledFrom([]int64{r.Start*1e9 - 1, r.Start * 1e9, r.End*1e9 - 1, r.End * 1e9}),
		).Draw(t, "at"))
		if r.Contains(at) != w.Contains(at) {
			t.Fatalf("%v contains %s: %t, its window: %t", r, at.UTC(), r.Contains(at), w.Contains(at))
		}
		instant := varve.Window{From: at, To: at.Add(1)}
		if r.Overlaps(instant) != r.Contains(at) {
			t.Fatalf("%v overlaps the instant %s: %t", r, at.UTC(), r.Overlaps(instant))
		}
		if r.Overlaps(varve.Window{From: w.To, To: w.To.Add(1)}) || r.Overlaps(varve.Window{From: w.From.Add(-1), To: w.From}) {
			t.Fatalf("%v overlaps what only touches it", r)
		}
	})
}

// TestWindow_EndsWithMaxTime checks ranges that end after the last possible event time. Their
// windows must end at varve.MaxTime, so that nanoseconds do not overflow.
func TestWindow_EndsWithMaxTime(t *testing.T) {
	all := varve.AllTime()
	m := grid.MonthOf(all.To)
	ranges := grid.DefaultPolicy().Ranges(m)
	for _, r := range ranges {
		w := r.Window()
		if w.From.UnixNano() < 0 || w.To.UnixNano() < w.From.UnixNano() || w.To.After(all.To) {
			t.Errorf("%v has the window %v", r, w)
		}
	}
	table, ok := grid.Parse("varve_9222940800_9999504000_12_2261")
	if w := table.Window(); !ok || w.To != all.To || w.To.UnixNano() != varve.MaxTime {
		t.Errorf("the window of a range beyond the end is %v", w)
	}
	table, ok = grid.Parse("varve_9998899200_9999504000_12_2261")
	if w := table.Window(); !ok || w.Validate() != nil || table.Overlaps(all) {
		t.Errorf("the window of a range behind the end is %v", w)
	}
}

// TestPolicy_Validate checks that every violation is returned, and that values at the limits are
// valid.
func TestPolicy_Validate(t *testing.T) {
	const years = 365 * 24 * time.Hour
	tests := []struct {
		reason string
		p      grid.Policy
		params string
	}{
		{"the default", grid.DefaultPolicy(), ""},
		{"the least", grid.Policy{}, ""},
		{"the most", grid.Policy{Future: 8 * week, Recent: 52, Doubling: 50 * years}, ""},
		{"too far ahead", grid.Policy{Future: 8*week + 1}, "future"},
		{"ahead in the past", grid.Policy{Future: -1}, "future"},
		{"too many weeks", grid.Policy{Recent: 53}, "recent"},
		{"negative weeks", grid.Policy{Recent: -1}, "recent"},
		{"too long a past", grid.Policy{Doubling: 50*years + 1}, "doubling"},
		{"a negative past", grid.Policy{Doubling: -1}, "doubling"},
		{"all of it", grid.Policy{Future: -1, Recent: -1, Doubling: -1}, "future recent doubling"},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			err := tt.p.Validate()
			var params []string
			if joined, ok := err.(interface{ Unwrap() []error }); ok {
				for _, e := range joined.Unwrap() {
					var ve *varve.Error
					if !errors.As(e, &ve) || ve.Failure != varve.Invalid {
						t.Fatalf("%v is not an Invalid error", e)
					}
					params = append(params, ve.Param)
				}
			}
			if got := strings.Join(params, " "); got != tt.params || (err == nil) != (tt.params == "") {
				t.Errorf("got %v, want %s", err, tt.params)
			}
		})
	}
}
