package bucket_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/bucket"
)

// A month holds its beginning and not its end, which is the next month's
// beginning, wherever on earth the time is told.
func TestMonthHoldsItsTimes(t *testing.T) {
	checkMany(t, func(t *rapid.T) {
		zone := time.FixedZone("", rapid.IntRange(-12*3600, 14*3600).Draw(t, "zone"))
		at := time.Unix(0, rapid.Int64Range(0, lastMonth.End().UnixNano()-1).Draw(t, "at")).In(zone)
		m := bucket.MonthOf(at)
		if at.Before(m.Start()) || !at.Before(m.End()) || m.End() != (m+1).Start() {
			t.Fatalf("%s is put into %s, from %s to %s", at, m, m.Start(), m.End())
		}
		if m.String() != at.UTC().Format("2006-01") || bucket.NewMonth(m.Year(), m.Calendar()) != m {
			t.Fatalf("%s is put into %s: %d, %d", at, m, m.Year(), m.Calendar())
		}
		if bucket.MonthOf(m.Start()) != m || bucket.MonthOf(m.End().Add(-1)) != m || bucket.MonthOf(m.End()) != m+1 {
			t.Fatalf("%s does not hold its ends", m)
		}
	})
	if got := bucket.NewMonth(2026, time.December) + 1; got.String() != "2027-01" {
		t.Errorf("December 2026 is followed by %s", got)
	}
}

// A range holds the same instants as its window, and overlaps what that
// overlaps.
func TestRangeIsItsWindow(t *testing.T) {
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

// The window of a range that reaches beyond the last time of a reading ends
// with that time, so that its nanoseconds do not overflow.
func TestWindowEndsWithTime(t *testing.T) {
	all := varve.AllTime()
	m := bucket.MonthOf(all.To)
	layout := bucket.DefaultPolicy().Layout(m)
	for _, r := range layout {
		w := r.Window()
		if w.From.UnixNano() < 0 || w.To.UnixNano() < w.From.UnixNano() || w.To.After(all.To) {
			t.Errorf("%v has the window %v", r, w)
		}
	}
	table, ok := bucket.Parse("varve_9222940800_9999504000_12_2261")
	if w := table.Window(); !ok || w.To != all.To || w.To.UnixNano() != varve.MaxTime {
		t.Errorf("the window of a range beyond the end is %v", w)
	}
	table, ok = bucket.Parse("varve_9998899200_9999504000_12_2261")
	if w := table.Window(); !ok || w.Validate() != nil || table.Overlaps(all) {
		t.Errorf("the window of a range behind the end is %v", w)
	}
}

// Everything that is wrong with a policy is said at once, and its bounds are
// exact.
func TestPolicyValidate(t *testing.T) {
	const years = 365 * 24 * time.Hour
	tests := []struct {
		reason string
		p      bucket.Policy
		params string
	}{
		{"the default", bucket.DefaultPolicy(), ""},
		{"the least", bucket.Policy{}, ""},
		{"the most", bucket.Policy{Future: 8 * week, Recent: 52, Doubling: 50 * years}, ""},
		{"too far ahead", bucket.Policy{Future: 8*week + 1}, "future"},
		{"ahead in the past", bucket.Policy{Future: -1}, "future"},
		{"too many weeks", bucket.Policy{Recent: 53}, "recent"},
		{"negative weeks", bucket.Policy{Recent: -1}, "recent"},
		{"too long a past", bucket.Policy{Doubling: 50*years + 1}, "doubling"},
		{"a negative past", bucket.Policy{Doubling: -1}, "doubling"},
		{"all of it", bucket.Policy{Future: -1, Recent: -1, Doubling: -1}, "future recent doubling"},
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
