package grid_test

import (
	"slices"
	"testing"
	"time"

	"github.com/varvedb/varve/grid"
	"pgregory.net/rapid"
)

// TestRanges_PartitionsTime checks that each range begins where the one before it ends. The ranges
// must reach from 1970 to the end of the week of the latest event time that can arrive.
func TestRanges_PartitionsTime(t *testing.T) {
	checkMany(t, func(t *rapid.T) {
		p, m := genPolicy().Draw(t, "policy"), genMonth().Draw(t, "month")
		ranges := p.Ranges(m)
		if len(ranges) == 0 || ranges[0].Start != 0 {
			t.Fatalf("%s: the ranges do not begin at 1970: %v", m, ranges)
		}
		for i, r := range ranges {
			if r.Start >= r.End || !onMonday(r.Start) || !onMonday(r.End) {
				t.Fatalf("%s: range %v is not on the grid", m, r)
			}
			if i > 0 && r.Start != ranges[i-1].End {
				t.Fatalf("%s: %v and %v do not adjoin", m, ranges[i-1], r)
			}
		}
		end := ranges[len(ranges)-1].End
		latest := m.End().Add(p.Future - 1)
		if over := time.Unix(end, 0).Sub(latest); over <= 0 || over > week {
			t.Fatalf("%s: the ranges end at %d, the latest event is at %s", m, end, latest)
		}
	})
}

// TestRanges_Widths checks the widths of ranges. The ranges of the month, of the recent weeks
// before it and of the future after it must be one week wide. Before them, widths must double, and
// from 8 weeks on may also quadruple.
//
// Each range must be aligned to a multiple of its width, and no width above one week may occur more
// than twice. Only the first range, which begins in 1970, may end before the oldest time that Doubling
// covers.
func TestRanges_Widths(t *testing.T) {
	checkMany(t, func(t *rapid.T) {
		p, m := genPolicy().Draw(t, "policy"), genMonth().Draw(t, "month")
		ranges := p.Ranges(m)
		recent := m.Start().Add(-time.Duration(p.Recent) * week).Unix()
		horizon := m.Start().Add(-p.Doubling).Unix()
		width, times := int64(1), 0
		for i, r := range slices.Backward(ranges) {
			weeks := weeksFrom(r.End) - weeksFrom(r.Start)
			if weeks != r.Weeks() {
				t.Fatalf("%v has %d weeks, Weeks is %d", r, weeks, r.Weeks())
			}
			if r.End > recent && weeks != 1 {
				t.Fatalf("%s, %+v: %v is recent and has %d weeks", m, p, r, weeks)
			}
			if weeks == 1 {
				continue
			}
			if rest := weeksFrom(r.End); i == 0 && (r.End <= horizon || rest < max(width, 2)) {
				break // the oldest range begins in 1970, and its width may differ
			}
			if r.End <= horizon {
				t.Fatalf("%s, %+v: %v is older than the doubling, and not the last", m, p, r)
			}
			if weeks != width {
				if weeks != 2*width && (width < 8 || weeks != 4*width) {
					t.Fatalf("%s, %+v: %v has %d weeks, after one of %d", m, p, r, weeks, width)
				}
				width, times = weeks, 0
			}
			if times++; times > 2 {
				t.Fatalf("%s, %+v: the third range of %d weeks: %v", m, p, weeks, r)
			}
			if weeksFrom(r.Start)%weeks != 0 {
				t.Fatalf("%s, %+v: %v is not aligned to %d weeks", m, p, r, weeks)
			}
		}
	})
}

// TestLocate_AgreesWithRanges checks that Locate returns the range of Ranges that contains
// the event time.
func TestLocate_AgreesWithRanges(t *testing.T) {
	checkMany(t, func(t *rapid.T) {
		p, m := genPolicy().Draw(t, "policy"), genMonth().Draw(t, "month")
		ranges := p.Ranges(m)
		edge := rapid.SampledFrom(ranges).Draw(t, "range")
		event := rapid.OneOf(
			rapid.Int64Range(-int64(week), lastMonth.End().UnixNano()),
			rapid.Int64Range(m.Start().Add(-100*week).UnixNano(), m.End().Add(10*week).UnixNano()),
			rapid.SampledFrom([]int64{edge.Start * 1e9, edge.Start*1e9 - 1, edge.End * 1e9, edge.End*1e9 - 1, -1, 0}),
		).Draw(t, "event")
		at := time.Unix(0, event)
		i := slices.IndexFunc(ranges, func(r grid.Range) bool { return r.Contains(at) })
		got, ok := p.Locate(at, m)
		if ok != (i >= 0) || ok && got != ranges[i] {
			t.Fatalf("%s, %+v: %s is located in %v, %t; Ranges has it at %d", m, p, at.UTC(), got, ok, i)
		}
	})
}

// TestLocate_FindsAllPossibleEvents draws arrivals, and event times from 1970 up to Future after
// the arrival. Locate must find a range for each.
func TestLocate_FindsAllPossibleEvents(t *testing.T) {
	checkMany(t, func(t *rapid.T) {
		p := genPolicy().Draw(t, "policy")
		arrived := time.Unix(0, rapid.Int64Range(0, lastMonth.End().UnixNano()-1).Draw(t, "arrived"))
		event := arrived.Add(p.Future)
		if late := rapid.Int64Range(0, event.UnixNano()).Draw(t, "late"); rapid.Bool().Draw(t, "is late") {
			event = event.Add(-time.Duration(late))
		}
		if r, ok := p.Locate(event, grid.MonthOf(arrived)); !ok || !r.Contains(event) {
			t.Fatalf("%+v: what happened at %s and arrived at %s is located in %v, %t", p, event.UTC(), arrived.UTC(), r, ok)
		}
	})
}

// TestRanges_DefaultIsSmall checks that the default policy needs at most 24 tables per arrival
// month. The range from 1970 must end about five years before the month, or earlier.
func TestRanges_DefaultIsSmall(t *testing.T) {
	p := grid.DefaultPolicy()
	most := 0
	for m := grid.NewMonth(2010, time.January); m <= lastMonth; m++ {
		ranges := p.Ranges(m)
		most = max(most, len(ranges))
		if len(ranges) > 24 {
			t.Errorf("%s has %d tables", m, len(ranges))
		}
		if fiveYears := m.Start().AddDate(-5, 0, 2); ranges[0].End > fiveYears.Unix() { // the policy covers 5 × 365 days, and five years have up to two days more
			t.Errorf("%s: what is less than five years late goes into the oldest table, %v", m, ranges[0])
		}
	}
	if most < 12 {
		t.Errorf("no month has more than %d tables: the ranges are wrong", most)
	}
}

// TestRanges_Examples compares Ranges with ranges computed by hand.
func TestRanges_Examples(t *testing.T) {
	day := func(text string) int64 {
		d, err := time.Parse(time.DateOnly, text)
		if err != nil {
			t.Fatal(err)
		}
		return d.Unix()
	}
	tests := []struct {
		reason string
		p      grid.Policy
		month  grid.Month
		want   []string // the beginning of each range, and the end of the last range
	}{
		// The week of 26 October 2026 has the odd number 2965. So one more weekly range is added,
		// which aligns the older ranges.
		{"no recent weeks, no past", grid.Policy{}, grid.NewMonth(2026, time.November),
			[]string{"1970-01-01", "2026-10-19", "2026-10-26", "2026-11-02", "2026-11-09", "2026-11-16", "2026-11-23", "2026-11-30", "2026-12-07"}},
		{"the future fits into the last week", grid.Policy{Future: 6 * 24 * time.Hour}, grid.NewMonth(2026, time.November),
			[]string{"1970-01-01", "2026-10-19", "2026-10-26", "2026-11-02", "2026-11-09", "2026-11-16", "2026-11-23", "2026-11-30", "2026-12-07"}},
		{"the future reaches into one more week", grid.Policy{Future: 6*24*time.Hour + 1}, grid.NewMonth(2026, time.November),
			[]string{"1970-01-01", "2026-10-19", "2026-10-26", "2026-11-02", "2026-11-09", "2026-11-16", "2026-11-23", "2026-11-30", "2026-12-07", "2026-12-14"}},
		// Going back from week 2962, which begins on 5 October, the widths are 2, 4, 4 and 8 weeks. The
		// second width of 4 is not 8 yet, because week 2956 is not a multiple of 8.
		{"two recent weeks, doubling over 20 weeks", grid.Policy{Recent: 2, Doubling: 20 * week}, grid.NewMonth(2026, time.November),
			[]string{"1970-01-01", "2026-06-01", "2026-07-27", "2026-08-24", "2026-09-21", "2026-10-05", "2026-10-12", "2026-10-19", "2026-10-26", "2026-11-02", "2026-11-09", "2026-11-16", "2026-11-23", "2026-11-30", "2026-12-07"}},
		// Before week 2958, the widths are 2, 4, 8, 32 (2944 is a multiple of 32), 32, 64 and 256
		// weeks. They end at week 2560, more than five years ago.
		{"the default", grid.DefaultPolicy(), grid.NewMonth(2026, time.November),
			[]string{"1970-01-01", "2019-01-21", "2023-12-18", "2025-03-10", "2025-10-20", "2026-06-01", "2026-07-27", "2026-08-24", "2026-09-07", "2026-09-14", "2026-09-21", "2026-09-28", "2026-10-05", "2026-10-12", "2026-10-19", "2026-10-26", "2026-11-02", "2026-11-09", "2026-11-16", "2026-11-23", "2026-11-30", "2026-12-07"}},
		{"the first month there is", grid.DefaultPolicy(), firstMonth,
			[]string{"1970-01-01", "1970-01-05", "1970-01-12", "1970-01-19", "1970-01-26", "1970-02-02"}},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			ranges := tt.p.Ranges(tt.month)
			var got []string
			for _, r := range ranges {
				got = append(got, time.Unix(r.Start, 0).UTC().Format(time.DateOnly))
			}
			got = append(got, time.Unix(ranges[len(ranges)-1].End, 0).UTC().Format(time.DateOnly))
			if !slices.Equal(got, tt.want) {
				t.Errorf("got  %v\nwant %v", got, tt.want)
			}
			if first := tt.want[0]; day(first) != 0 {
				t.Errorf("%s is not 1970", first)
			}
		})
	}
}

// TestRanges_WeeksCrossYears checks the week that contains each 1 January. It must be one range
// of seven days from a Monday, which both December and January have.
func TestRanges_WeeksCrossYears(t *testing.T) {
	p := grid.DefaultPolicy()
	for year := 1971; year <= 2261; year++ {
		newYear := time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC)
		jan, ok1 := p.Locate(newYear, grid.MonthOf(newYear))
		dec, ok2 := p.Locate(newYear, grid.MonthOf(newYear)-1) // the event time is up to a day after the arrival
		if !ok1 || !ok2 || jan != dec {
			t.Errorf("%d: %v in January, %v in December", year, jan, dec)
		}
		from := time.Unix(jan.Start, 0).UTC()
		if from.Weekday() != time.Monday || jan.End-jan.Start != int64(week/time.Second) || !jan.Contains(newYear) {
			t.Errorf("%d: 1 January lies in %v, from %s", year, jan, from)
		}
	}
}
