package alerts_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/varvedb/varve/alerts"
)

// TestDeadman_WaitsForRequestTimeout: if the last reading was found in tables, it may
// have been stored as much later as a request may take. An alert waits as long.
func TestDeadman_WaitsForRequestTimeout(t *testing.T) {
	for timeout, want := range map[time.Duration]string{
		5 * time.Minute:  "15: 0-10-",
		30 * time.Minute: "40: 0-10-",
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, func(o *alerts.Options) { o.RequestTimeout = timeout })
			w.send(reading("d", noon))
			w.rule(silent("", 10*time.Minute))
			if got := w.checks(60, nil); got != want {
				t.Errorf("with requests of up to %s: %s, want %s", timeout, got, want)
			}
		})
	}
}
