package engine_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/engine"
	"github.com/varvedb/varve/rollup"
	"github.com/varvedb/varve/rotator"
	"github.com/varvedb/varve/store/mem"
)

// TestResentBacklog_CountsOnce sends two readings near the end of a month, with a retention of
// two days. It resends them after their expiry in the next month, before and after the drop of
// their table. The roll-ups must count each reading once.
func TestResentBacklog_CountsOnce(t *testing.T) {
	const day = 24 * time.Hour
	for name, later := range map[string]time.Duration{"table exists": 5 * day, "table dropped": 45 * day} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				policy := rotation(func(p *rotator.Policy) {
					p.Retention.Classes[0].Retention, p.Drop, p.Grace = 2*day, true, day
				})
				s := mem.New(nil)
				e := open(t, engine.Options{Store: s, Rotation: policy})
				wait(27*day + 10*time.Hour) // 28 January, 10:00
				first := e.Now()
				series := varve.Series{Tenant: varve.DefaultTenant, Stream: "weather", Device: "a"}
				send := func(n int) {
					t.Helper()
					sendBacklog(t, e, series, first, n)
				}
				check := func(when string, readings int64, sum string) {
					t.Helper()
					checkRollups(t, e, series, when, readings, sum)
				}
				send(2)
				check("sent", 2, "12")
				wait(later)
				check("before the backlog is resent", 2, "12")
				send(2)
				check("resent", 2, "12")
				wait(3 * time.Hour)
				check("resent, at rest", 2, "12")
				wait(40 * day)
				send(3) // includes a reading that had not arrived before
				check("resent with a new one", 3, "21")
				wait(3 * time.Hour)
				check("resent with a new one, at rest", 3, "21")
			})
		})
	}
}

// sendBacklog writes n readings of a series, a minute apart, with the values 5, 7, 9 and so on.
func sendBacklog(t *testing.T, e *engine.Engine, series varve.Series, first time.Time, n int) {
	t.Helper()
	readings := make([]varve.Reading, n)
	for i := range readings {
		readings[i] = varve.Reading{
			Series: series, Time: first.Add(time.Duration(i) * time.Minute),
			Fields: []varve.Field{{Name: "v", Value: varve.IntValue(int64(5 + 2*i))}},
		}
	}
	req, err := e.Router.Admit()
	if err != nil {
		t.Fatal(err)
	}
	defer req.Done()
	verdicts := make([]varve.Verdict, n)
	if err := req.Write(t.Context(), readings, verdicts); err != nil || verdicts[0].Outcome != varve.Stored {
		t.Fatalf("%v %s", err, verdicts[0])
	}
}

// checkRollups compares the only roll-up of a series, hourly and daily, with a count and a sum.
func checkRollups(t *testing.T, e *engine.Engine, series varve.Series, when string, readings int64, sum string) {
	t.Helper()
	for _, p := range []rollup.Period{rollup.Hourly, rollup.Daily} {
		page, err := e.Rollups.Read(t.Context(), rollup.Query{Series: series, Period: p, Window: varve.AllTime()})
		if err != nil || len(page.Rollups) != 1 {
			t.Fatalf("%s, %s: %d roll-ups, %v", when, p, len(page.Rollups), err)
		}
		r := &page.Rollups[0]
		if got := r.Field("v").Sum.String(); r.Readings != readings || got != sum {
			t.Errorf("%s, %s: %d readings, sum %s; want %d, sum %s", when, p, r.Readings, got, readings, sum)
		}
	}
}
