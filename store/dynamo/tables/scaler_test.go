package tables

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestNextUnits_FollowsUse(t *testing.T) {
	for _, c := range []struct {
		why        string
		is         int64
		used, peak float64
		mayLower   bool
		want       int64
	}{
		{"use at the target", 100, 70, 70, true, 100},
		{"more use", 100, 80, 80, true, 115},
		{"requests may be throttled", 100, 90, 90, false, 200},
		{"more than double, from burst capacity", 100, 300, 300, false, 429},
		{"beyond the largest capacity", 900, 900, 900, false, 1000},
		{"less use", 100, 5, 20, true, 29},
		{"less use, and no decrease allowed", 100, 5, 20, false, 100},
		{"a peak of the last hours", 100, 5, 69, true, 100},
		{"a small saving", 100, 5, 60, true, 100},
		{"no use", 100, 0, 0, true, 10},
		{"below the smallest capacity", 4, 0, 0, false, 10},
		{"above the largest capacity", 2000, 0, 2000, true, 1000},
		{"above the largest capacity, and no decrease allowed", 2000, 0, 2000, false, 2000},
	} {
		if got := nextUnits(c.is, limits{10, 1000}, use{now: c.used, peak: c.peak}, c.mayLower); got != c.want {
			t.Errorf("%s: %d, want %d", c.why, got, c.want)
		}
	}
	if got := nextUnits(100, limits{10, 1000}, use{now: 20, peak: 20, isThrottled: true}, true); got != 200 {
		t.Errorf("throttled: %d, want 200", got)
	}
}

// TestNextUnits_ServesPeak checks that a capacity stays within its limits and serves the present use. The
// capacity may fall only if that is allowed, and must then serve the use of the last hours. If the use is
// below the share fullUse of the new capacity, a second call must not raise it again.
func TestNextUnits_ServesPeak(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		least := rapid.Int64Range(1, 1000).Draw(t, "least")
		most := rapid.Int64Range(least, 40_000).Draw(t, "most")
		is := rapid.Int64Range(least, most).Draw(t, "is")
		used := rapid.Float64Range(0, 50_000).Draw(t, "used")
		peak := max(used, rapid.Float64Range(0, 50_000).Draw(t, "peak"))
		mayLower := rapid.Bool().Draw(t, "may lower")
		refused := rapid.Bool().Draw(t, "throttled")
		got := nextUnits(is, limits{least, most}, use{used, peak, refused}, mayLower)
		switch {
		case got < least || got > most:
			t.Fatalf("%d is outside of %d to %d", got, least, most)
		case got < is && !mayLower:
			t.Fatalf("%d is lowered to %d", is, got)
		case got < is && got < most && float64(got)*targetUse < peak-1e-6:
			t.Fatalf("%d is lowered to %d, which does not serve %v", is, got, peak)
		case got < most && float64(got)*targetUse < used-1e-6:
			t.Fatalf("%d does not serve %v", got, used)
		case refused && got < min(2*is, most):
			t.Fatalf("requests are throttled, and %d is changed to %d", is, got)
		case got > is && got > int64(math.Ceil(used/targetUse)) && got > 2*is:
			t.Fatalf("%d is raised to %d for %v", is, got, used)
		}
		if again := nextUnits(got, limits{least, most}, use{now: used, peak: peak}, false); again > got && used < fullUse*float64(got) {
			t.Fatalf("%d is followed by %d", got, again)
		}
	})
}
