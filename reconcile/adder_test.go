package reconcile

import (
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/rollup"
)

// TestAdder_HasOnePeriodAtEndOfAllTime adds readings of the last hour and the last day that event times have.
// The ends of both are after the last event time. Each must be one period.
func TestAdder_HasOnePeriodAtEndOfAllTime(t *testing.T) {
	last := varve.AllTime().To.Add(-time.Minute)
	for _, p := range []rollup.Period{rollup.Hourly, rollup.Daily} {
		a := adder{period: p}
		for i := range 3 {
			a.add(varve.Position{Time: last.Add(time.Duration(i) * time.Second).UnixNano(), ID: varve.HashID(uint64(i))})
		}
		if list := a.answer.Periods; len(list) != 1 || list[0].Readings != 3 || list[0].Start.After(last) {
			t.Errorf("%s: %+v, want one period with 3 readings", p, list)
		}
	}
}
