package engine_test

import (
	"syscall"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/alerts"
	"github.com/varvedb/varve/engine"
	"github.com/varvedb/varve/registry"
	"github.com/varvedb/varve/store/local"
)

const (
	bulkReadings = 100_000
	bulkWrite    = 5_000 // number of readings in one write
	busyEach     = 17    // one in this many readings raises an alert
)

// upload writes the readings of a late upload into an embedded store. It returns the elapsed
// time, the processor time, and the number of alerts.
func upload(tb testing.TB, ruled bool) (took, cpu time.Duration, raised int) {
	tb.Helper()
	st, err := local.Open(local.Options{Dir: tb.TempDir()})
	if err != nil {
		tb.Fatal(err)
	}
	e, err := engine.Open(tb.Context(), engine.Options{Store: st})
	if err != nil {
		tb.Fatal(err)
	}
	defer func() {
		if err := e.Close(); err != nil {
			tb.Error(err)
		}
	}()
	if ruled {
		r := alerts.Rule{Tenant: varve.DefaultTenant, Stream: "weather", Field: "v", Comparison: ">", Threshold: varve.IntValue(30), Severity: alerts.Warning}
		if _, _, err := e.Alerts.AddRule(tb.Context(), r); err != nil {
			tb.Fatal(err)
		}
	}
	first := e.Now().Add(-bulkReadings * 10 * time.Second)
	batch, verdicts := make([]varve.Reading, bulkWrite), make([]varve.Verdict, bulkWrite)
	for n := 0; n < bulkReadings; n += bulkWrite {
		clear(verdicts)
		for i := range batch {
			v := int64(20)
			if (n+i)%busyEach == 0 {
				v = 40
			}
			batch[i] = varve.Reading{
				Series: varve.Series{Tenant: varve.DefaultTenant, Stream: "weather", Device: "a"}, Time: first.Add(time.Duration(n+i) * 10 * time.Second),
				Fields: []varve.Field{{Name: "v", Value: varve.IntValue(v)}},
			}
		}
		begin, used := time.Now(), processorTime(tb)
		req, err := e.Router.Admit()
		if err == nil {
			err = req.Write(tb.Context(), batch, verdicts)
			req.Done()
		}
		took, cpu = took+time.Since(begin), cpu+processorTime(tb)-used
		if err != nil || verdicts[0].Outcome != varve.Stored || verdicts[bulkWrite-1].Outcome != varve.Stored {
			tb.Fatal(err, verdicts[0], verdicts[bulkWrite-1])
		}
	}
	return took, cpu, countAlerts(tb, e)
}

func processorTime(tb testing.TB) time.Duration {
	tb.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func countAlerts(tb testing.TB, e *engine.Engine) (n int) {
	tb.Helper()
	for l := (alerts.AlertList{Tenant: varve.DefaultTenant, Device: "a", Limit: registry.MaxLimit}); ; {
		page, err := e.Alerts.Alerts(tb.Context(), l)
		if err != nil {
			tb.Fatal(err)
		}
		n += len(page.Items)
		if l.Cursor = page.Next; l.Cursor == "" {
			return n
		}
	}
}

// TestBusyRule_RaisesEachAlert checks that a bulk upload to many tables raises each alert of a rule
// that raises one at every 17th reading.
func TestBusyRule_RaisesEachAlert(t *testing.T) {
	_, _, raised := upload(t, true)
	if want := (bulkReadings + busyEach - 1) / busyEach; raised != want {
		t.Errorf("%d alerts, want %d", raised, want)
	}
}

// BenchmarkBusyRule prints how much longer a bulk upload takes under a rule that raises an alert
// at every 17th reading.
func BenchmarkBusyRule(b *testing.B) {
	var without, with, cpuWithout, cpuWith time.Duration
	for b.Loop() {
		took, cpu, _ := upload(b, false)
		without, cpuWithout = without+took, cpuWithout+cpu
		took, cpu, raised := upload(b, true)
		with, cpuWith = with+took, cpuWith+cpu
		if want := (bulkReadings + busyEach - 1) / busyEach; raised != want {
			b.Fatalf("%d alerts, want %d", raised, want)
		}
	}
	b.ReportMetric(float64(b.N)*bulkReadings/without.Seconds(), "readings/s-without")
	b.ReportMetric(float64(b.N)*bulkReadings/with.Seconds(), "readings/s-with")
	b.ReportMetric(cpuWith.Seconds()/cpuWithout.Seconds(), "times-the-processor")
	b.ReportMetric(with.Seconds()/without.Seconds(), "times-as-long")
}
