package notify

import (
	"fmt"
	"testing"
	"time"
)

// TestAlertmanager_ForgetsEndedFirings opens and resolves many alerts. Few firings may stay in
// memory, and many open alerts may be scanned only when their number has doubled.
func TestAlertmanager_ForgetsEndedFirings(t *testing.T) {
	now := time.Date(2026, 11, 18, 12, 0, 0, 0, time.UTC)
	a, err := NewAlertmanager("http://localhost:9093", "", func() time.Time { return now })
	if err != nil {
		t.Fatal(err)
	}
	send := func(kind Type, i int) {
		a.alert(&Message{Type: kind, Alert: &AlertData{ID: fmt.Sprint(i), ResolvedAt: &now}})
	}
	for i := range 20_000 {
		send(Opened, i)
		send(Resolved, i)
		now = now.Add(time.Second)
		if most := 2*mostFired + 1; len(a.fired) > most {
			t.Fatalf("%d firings are in memory after %d alerts, want at most %d", len(a.fired), i+1, most)
		}
	}
	scans, last := 0, a.forgetAt
	for i := range 20_000 {
		if send(Opened, -i); a.forgetAt != last {
			scans, last = scans+1, a.forgetAt
		}
	}
	if scans < 3 || scans > 6 {
		t.Errorf("20000 open alerts are scanned %d times, want about 5", scans)
	}
}
