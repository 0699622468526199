package mqtt

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/varvedb/varve/health"
)

// TestDrops_EndWithoutReport checks that the condition health.BrokerDropping ends, although the broker
// sends no report while it drops no messages.
func TestDrops_EndWithoutReport(t *testing.T) {
	now := time.Date(2026, 11, 16, 12, 0, 0, 0, time.UTC)
	clock := func() time.Time { return now }
	conditions := health.New(health.Options{Now: clock})
	d := drops{now: clock, conditions: conditions, metrics: NewMetrics(prometheus.NewRegistry(), Parts{Client: true})}
	for _, c := range []struct {
		report string
		after  time.Duration
		want   bool
	}{{"5", 0, false}, {"9", time.Minute, true}, {"", quiet, true}, {"", time.Second, false}, {"9", time.Minute, false}, {"10", time.Minute, true}} {
		now = now.Add(c.after)
		if c.report != "" {
			d.report([]byte(c.report))
		}
		d.endIfQuiet()
		if got := conditions.Holds(health.BrokerDropping); got != c.want {
			t.Errorf("report %q after %s: %t, want %t", c.report, c.after, got, c.want)
		}
	}
}
