package rotator_test

import (
	"math"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/calendar"
	"github.com/varvedb/varve/internal/randomtest"
	"github.com/varvedb/varve/store"
)

// TestSimulate_MatchesFiveYears simulates a life of five years, hour by hour, and compares it with a
// forecast.
//
// The rotator is killed at times, but has no outages, because a forecast cannot predict them. A
// forecast also ignores that some readings have event times in the future, and so expire later.
// The lives of TestRotator_LosesNothingInFiveYears have outages of up to 20 days, and differ more.
func TestSimulate_MatchesFiveYears(t *testing.T) {
	if testing.Short() {
		t.Skip("five years take long")
	}
	if randomtest.WithRaceDetector {
		t.Skip("make test runs this test without the race detector")
	}
	t.Parallel()
	l := newLife(t, 4, 100)
	l.punctual = true
	for end := l.clock.Add(5 * 365 * day); l.clock.Before(end); {
		l.hour()
	}
	l.checkForecast(1, 5)
}

// tally counts the calls of the store, the tables and the stored readings of a simulated life.
type tally struct {
	begin   time.Time
	steps   map[string]float64 // number of calls of the store, by name of the method
	arrived map[string]calendar.Load
	months  float64
	tables  float64       // sum of the numbers of tables at the end of each month
	stored  calendar.Load // sum of the stored readings and bytes at the end of each month
}

func newTally(begin time.Time) tally {
	return tally{begin: begin, steps: map[string]float64{}, arrived: map[string]calendar.Load{}}
}

func (c *tally) addReading(class string, r *varve.Reading) {
	l := c.arrived[class]
	c.arrived[class] = calendar.Load{Readings: l.Readings + 1, Bytes: l.Bytes + float64(r.Size())}
}

func (c *tally) endMonth(infos []store.Info) {
	c.months++
	c.tables += float64(len(infos))
	for i := range infos {
		c.stored.Readings += float64(infos[i].Readings)
		c.stored.Bytes += float64(infos[i].Bytes)
	}
}

// checkForecast compares the life with a forecast from its policy and its load. The argument "most"
// is the largest allowed difference, in percent. Late runs delay tuning and drops. So for tuned
// tables and stored contents, the limit is mostStored.
func (l *life) checkForecast(most, mostStored float64) {
	days := l.clock.Sub(l.done.begin).Hours() / 24
	daily, arrived := map[string]calendar.Load{}, 0.0
	for class, sum := range l.done.arrived {
		daily[class] = calendar.Load{Readings: sum.Readings / days, Bytes: sum.Bytes / days}
		arrived += sum.Readings
	}
	f, err := calendar.Simulate(l.t.Context(), calendar.Options{Policy: l.policy, Now: l.done.begin, Until: l.clock, Daily: daily})
	if err != nil {
		l.t.Fatal(err)
	}
	forecast, requests := newTally(l.done.begin), 0.0
	for i := range f.Months {
		m := &f.Months[i]
		for op, n := range map[string]int{"create": m.Created, "tune": m.Tuned, "retire": m.Retired, "drop": m.Dropped} {
			forecast.steps[op] += float64(n)
		}
		requests += calendar.ListPrices.CostOf(m, false).Requests
		if i < len(f.Months)-1 { // the last month has not ended
			forecast.months++
			forecast.tables += float64(m.Tables)
			forecast.stored.Readings += m.Stored.Readings
			forecast.stored.Bytes += m.Stored.Bytes
		}
	}
	within := func(most float64, what string, got, want float64) {
		l.t.Helper()
		l.t.Logf("%s: forecast %.0f, simulation %.0f (%+.1f %%)", what, got, want, 100*(got/want-1))
		if want == 0 || math.Abs(got/want-1) > most/100 {
			l.t.Errorf("%s: the forecast is %.0f, the simulation of five years has %.0f, want a difference of at most %v %%", what, got, want, most)
		}
	}
	steps := l.done.steps
	within(most, "created", forecast.steps["create"], steps["create"])
	within(mostStored, "tuned", forecast.steps["tune"], steps["tune"])
	within(most, "retired", forecast.steps["retire"], steps["retire"])
	within(most, "dropped", forecast.steps["drop"], steps["drop"])
	within(most, "requests", requests, arrived+steps["create"]+steps["tune"]+steps["retire"]+steps["restore"]+steps["drop"])
	within(most, "tables at the ends of months", forecast.tables, l.done.tables)
	within(mostStored, "stored readings", forecast.stored.Readings, l.done.stored.Readings)
	within(mostStored, "stored bytes", forecast.stored.Bytes, l.done.stored.Bytes)
}
