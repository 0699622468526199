package rotator_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/internal/randomtest"
	"github.com/varvedb/varve/retention"
	"github.com/varvedb/varve/rotator"
	"github.com/varvedb/varve/router"
	"github.com/varvedb/varve/store"
)

const day = 24 * time.Hour

// TestRotator_LosesNothingInFiveYears simulates five years, hour by hour. Readings are late,
// early or resent, and requests are slow. The rotator does not run for up to 20 days, or is
// killed between two actions.
//
// Each acknowledged reading must be found until it expires, and not afterward. A table must not be
// retired or dropped while it has a reading that is not expired. Foreign tables must not change,
// and the number of tables must not exceed the result of Policy.Bound.
func TestRotator_LosesNothingInFiveYears(t *testing.T) {
	seeds, span, maxDays := 2, 5*365*day, 100
	short := testing.Short() || randomtest.WithRaceDetector
	if short {
		seeds, span, maxDays = 4, 100*day, 30
	}
	for seed := range seeds {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			t.Parallel()
			l := newLife(t, uint64(seed), maxDays)
			for end := l.clock.Add(span); l.clock.Before(end); {
				l.hour()
			}
			l.checkAll()
			if !short {
				l.checkForecast(5, 10)
			}
			if l.drops == 0 || l.kills == 0 || l.acked == 0 || l.late == 0 || l.outages == 0 {
				t.Errorf("too little happened: %d drops, %d kills, %d readings, %d slow requests, %d outages", l.drops, l.kills, l.acked, l.late, l.outages)
			}
			t.Logf("%d readings, %d runs that acted, %d kills, %d outages, %d drops; at most %d tables, bound %d",
				l.acked, l.runs, l.kills, l.outages, l.drops, l.most, l.bound)
		})
	}
}

// life is a world with a record of all acknowledged readings.
type life struct {
	*world
	rng       *rand.Rand
	retention map[string]time.Duration                      // retention by stream
	alive     map[varve.Series]map[varve.Position]time.Time // expiry of each acknowledged reading that has not expired
	until     map[grid.Table]time.Time                      // expiry of the last reading in each table
	sent      []varve.Reading                               // some of the sent readings, which may be resent
	slow      []slowRequest
	away      time.Time // the rotator does not run until this time
	ran       time.Time // time of the last run that was not killed
	bound     int
	budget    int // calls of the store until the process is killed; -1 means that it is not killed
	done      tally
	punctual  bool // whether the rotator has no outages

	acked, late, runs, kills, outages, drops, most int
}

// slowRequest is an admitted request whose reading is not written yet.
type slowRequest struct {
	*router.Request
	at time.Time // time at which the reading is written
}

func newLife(t *testing.T, seed uint64, maxDays int) *life {
	rng := rand.New(rand.NewPCG(seed, 5))
	l := &life{
		world: newWorld(t, time.Date(2026, 10, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(rng.IntN(400*24))*time.Hour)),
		rng:   rng, budget: -1, retention: map[string]time.Duration{},
		alive: map[varve.Series]map[varve.Position]time.Time{}, until: map[grid.Table]time.Time{},
	}
	l.retention["weather"] = time.Duration(1+rng.IntN(maxDays)) * day
	l.retention["debug"] = time.Duration(1+rng.IntN(72)) * time.Hour
	l.store.before = l.allow
	l.start(rotator.Policy{
		Grid: grid.Policy{
			Future: time.Duration(rng.IntN(24*20)) * time.Hour, Recent: rng.IntN(4),
			Doubling: time.Duration(rng.IntN(365)) * day,
		},
		Retention: &retention.Policy{
			Prefix: "varve",
			Classes: []retention.Class{
				{Name: retention.DefaultClass, Retention: l.retention["weather"]},
				{Name: "short", Retention: l.retention["debug"]},
			},
			Streams: map[string]retention.Stream{"debug": {Class: "short"}},
		},
		Drop: true, MaxDrops: 3 + rng.IntN(30), Grace: time.Duration(1+rng.IntN(15*24)) * time.Hour, RecountGrace: 3 * day,
	})
	bound, ok := l.policy.Bound(l.clock, 20*day)
	if !ok {
		t.Fatal("a policy that drops has no bound")
	}
	l.bound = bound
	l.done = newTally(l.clock)
	for n := range 50 {
		at := l.clock.AddDate(0, 0, 7*n)
		rg, _ := grid.DefaultPolicy().Locate(at, grid.MonthOf(at))
		l.mem.PlantForeign(grid.Table{Prefix: "varve-other", Range: rg, Month: grid.MonthOf(at)}.Name())
	}
	return l
}

// allow is called before each call of the store. It ends a run after some calls. It fails the
// test if the call affects a foreign table or a reading that is not expired.
func (l *life) allow(op string, t grid.Table) error {
	if l.budget == 0 {
		return fmt.Errorf("the process is dead")
	}
	if l.budget > 0 {
		l.budget--
	}
	if t != (grid.Table{}) && t.Prefix != "varve" && t.Prefix != "varve-short" {
		l.t.Errorf("%s: %s %s, which is foreign", l.clock, op, t)
	}
	if op == "retire" || op == "drop" {
		if until := l.until[t]; until.After(l.clock) {
			l.t.Errorf("%s: %s %s, which holds a reading that lives until %s", l.clock, op, t, until)
		}
	}
	if op == "drop" {
		l.drops++
	}
	l.done.steps[op]++
	return nil
}

// hour simulates an hour with writes at random times, and runs the rotator at its end.
func (l *life) hour() {
	next := l.clock.Truncate(time.Hour).Add(time.Hour)
	for n := l.rng.IntN(3); n > 0; n-- {
		l.clock = l.clock.Add(time.Duration(l.rng.Int64N(int64(next.Sub(l.clock)))))
		l.client()
	}
	if next.Day() == 1 && next.Hour() == 0 { // errors are most likely at the turn of a month
		l.clock = next.Add(-time.Nanosecond)
		l.client()
		l.admit()
		l.clock = next
		l.client()
	}
	l.clock = next
	l.finishSlow()
	if next.Day() == 1 && next.Hour() == 0 {
		l.done.endMonth(l.tables())
	}
	acted := l.rotate()
	if acted || l.rng.IntN(10*24) == 0 {
		l.checkAll()
	}
}

// rotate runs the rotator if the time in the field "away" has passed and something is due. At random, it
// begins an outage or kills the run. It reports whether tables were retired or dropped.
func (l *life) rotate() bool {
	infos, err := l.mem.Tables(l.t.Context(), storeFilter())
	if err != nil {
		l.t.Fatal(err)
	}
	if l.most = max(l.most, len(infos)); l.most > l.bound {
		l.t.Fatalf("%s: %d tables, the bound is %d", l.clock, l.most, l.bound)
	}
	if l.clock.Before(l.away) {
		return false
	}
	if !l.punctual && l.rng.IntN(45*24) == 0 {
		l.outages++
		l.away = l.clock.Add(time.Duration(l.rng.Int64N(int64(20*day - 12*time.Hour))))
		return false
	}
	p := l.policy.Plan(l.clock, infos)
	if len(p.Actions) == 0 && l.clock.Sub(l.ran) < 20*time.Hour {
		return false // nothing to do, and no expired readings to delete
	}
	if len(p.Actions) > 0 {
		l.runs++
	}
	if l.rng.IntN(3) == 0 {
		l.budget = l.rng.IntN(len(p.Actions) + 4)
	}
	_, err = l.rotator.Run(l.t.Context())
	if killed := l.budget == 0 && err != nil; killed {
		l.kills++
		l.start(l.policy)
	} else if err != nil {
		l.t.Fatalf("%s: %v", l.clock, err)
	} else {
		l.ran = l.clock
	}
	l.budget = -1
	counts := p.Counts()
	return counts[rotator.Retire]+counts[rotator.Drop] > 0
}

func storeFilter() store.Filter {
	return store.Filter{Prefixes: []string{"varve", "varve-short"}, Window: varve.AllTime(), Details: true, Fresh: true}
}

// checkAll queries all series. Each query must return exactly the readings that are not expired.
func (l *life) checkAll() {
	for s, alive := range l.alive {
		got, _ := l.read(s.Stream, s.Device)
		for i := range got {
			if expires, ok := alive[got[i].Position()]; !ok || !expires.After(l.clock) {
				l.t.Fatalf("%s: %s is found; it expired %s", l.clock, &got[i], expires)
			}
		}
		for at, expires := range alive {
			if !expires.After(l.clock) {
				delete(alive, at)
			}
		}
		if len(got) != len(alive) {
			l.t.Fatalf("%s: %s: %d readings are found, %d are alive", l.clock, s, len(got), len(alive))
		}
	}
}
