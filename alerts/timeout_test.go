package alerts_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/varvedb/varve/alerts"
)

// TestDeadman_WaitsForRequestTimeout checks that an alert waits for the request timeout if the
// last reading was found in tables. The reading may have been stored up to this long after its
// arrival.
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
