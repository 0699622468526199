package rotator_test

import (
	"testing"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/query"
	"github.com/varvedb/varve/rotator"
)

// TestRun_RestoresTablesAfterClockRepair sets the clock ahead, so that a run retires tables in
// use. After the clock is corrected, old and new readings must be found immediately. The next run
// must restore the tables.
func TestRun_RestoresTablesAfterClockRepair(t *testing.T) {
	w := runWorld(t)
	mustRun(t, w.rotator)
	before, _ := w.write("weather", "dev1", w.clock, 1)
	right := w.clock
	w.clock = right.AddDate(2, 0, 0)
	if p := mustRun(t, w.rotator); p.Counts()[rotator.Retire] == 0 {
		t.Fatal("the jump retired nothing")
	}
	w.clock = right
	after, v := w.write("weather", "dev1", w.clock, 2)
	if v.Outcome != varve.Stored {
		t.Fatalf("write after the repair: %s", v)
	}
	check := func(when string) {
		t.Helper()
		got, cover := w.read("weather", "dev1")
		if len(got) != 2 || len(cover.Expired) > 0 {
			t.Errorf("%s: %d readings of %s and %s, coverage %+v", when, len(got), &before, &after, cover)
		}
		a, err := w.query.Latest(t.Context(), query.LatestQuery{Series: series("weather", "dev1"), By: varve.ByArrival})
		if err != nil || !a.Found {
			t.Errorf("%s: latest: %v %v", when, a.Found, err)
		}
	}
	check("before the next run")
	if p := mustRun(t, w.rotator); p.Counts()[rotator.Restore] == 0 {
		t.Error("the next run restored nothing")
	}
	check("after it")
	for _, in := range w.tables() {
		if in.Month.Year() == right.Year() && !in.Retired.IsZero() {
			t.Errorf("%s is still retired", in.Table)
		}
	}
}

func mustRun(t testing.TB, r *rotator.Rotator) rotator.Plan {
	t.Helper()
	p, err := r.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return p
}
