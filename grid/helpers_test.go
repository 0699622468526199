package grid_test

import (
	"testing"
	"time"

	"github.com/varvedb/varve/grid"
	"pgregory.net/rapid"
)

const week = 7 * 24 * time.Hour

// monday is the first Monday after 1970-01-01. In weeksFrom, week 1 begins on it.
var monday = time.Date(1970, 1, 5, 0, 0, 0, 0, time.UTC)

// onMonday reports whether a Unix time is a Monday at 00:00 UTC, or the beginning of 1970, at which
// the first week begins.
func onMonday(sec int64) bool {
	return sec == 0 || sec > 0 && (sec-monday.Unix())%int64(week/time.Second) == 0
}

// weeksFrom returns the number of the week that begins at sec. Week 0 begins with 1970.
func weeksFrom(sec int64) int64 {
	if sec == 0 {
		return 0
	}
	return (sec-monday.Unix())/int64(week/time.Second) + 1
}

var (
	firstMonth = grid.NewMonth(1970, time.January)
	lastMonth  = grid.NewMonth(2261, time.December)
)

func genMonth() *rapid.Generator[grid.Month] {
	return rapid.Custom(func(t *rapid.T) grid.Month {
		return grid.Month(rapid.IntRange(int(firstMonth), int(lastMonth)).Draw(t, "month"))
	})
}

// genPolicy generates valid policies. It often generates the default policy, and values at the
// limits.
func genPolicy() *rapid.Generator[grid.Policy] {
	return rapid.Custom(func(t *rapid.T) grid.Policy {
		const years = 365 * 24 * time.Hour
		p := grid.Policy{
			Future:   time.Duration(rapid.OneOf(rapid.Int64Range(0, int64(8*week)), rapid.SampledFrom([]int64{0, 1, int64(week), int64(8 * week)})).Draw(t, "future")),
			Recent:   rapid.IntRange(0, 52).Draw(t, "recent"),
			Doubling: time.Duration(rapid.OneOf(rapid.Int64Range(0, int64(50*years)), rapid.SampledFrom([]int64{0, 1, int64(5 * years), int64(50 * years)})).Draw(t, "doubling")),
		}
		if rapid.IntRange(0, 4).Draw(t, "default") == 0 {
			p = grid.DefaultPolicy()
		}
		if err := p.Validate(); err != nil {
			t.Fatalf("%+v: %v", p, err)
		}
		return p
	})
}

// checkMany calls rapid.Check 20 times for a property, or 10 times in short mode.
func checkMany(t *testing.T, property func(*rapid.T)) {
	t.Helper()
	rounds := 20
	if testing.Short() {
		rounds = 10
	}
	for range rounds {
		rapid.Check(t, property)
	}
}
