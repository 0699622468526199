package retention_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/retention"
)

var now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// TestAlive_UntilLaterOfEventAndArrival checks expiry to the nanosecond. The retention of a
// reading begins at the later of its event time and its arrival.
func TestAlive_UntilLaterOfEventAndArrival(t *testing.T) {
	tests := []struct {
		reason         string
		event, arrived time.Duration // how long before now the event and the arrival were
		keep           time.Duration
		want           bool
	}{
		{"just now", 0, 0, day, true},
		{"a nanosecond before its end", day - 1, day - 1, day, true},
		{"at its end", day, day, day, false},
		{"after its end", day + 1, day + 1, day, false},
		{"an old event that arrived in time", 10 * year, day - 1, day, true},
		{"an old event that arrived at the cutoff", 10 * year, day, day, false},
		{"an event ahead of its arrival", day - 1, 2 * day, day, true},
		{"in the future", -time.Hour, day, day, true},
		{"for ever", 40 * year, 40 * year, retention.Forever, true},
		{"for 100 years", 40 * year, 40 * year, 100 * year, true},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			r := varve.Reading{Time: now.Add(-tt.event), Arrived: now.Add(-tt.arrived)}
			if got := r.Alive(retention.Cutoff(now, tt.keep)); got != tt.want {
				t.Errorf("alive: %t", got)
			}
		})
	}
}

// TestAlive_ForeverNeverExpires checks that even a reading of 1970 is alive if the retention is
// Forever.
func TestAlive_ForeverNeverExpires(t *testing.T) {
	first := varve.Reading{Time: time.Unix(0, 0)}
	if cutoff := retention.Cutoff(now, retention.Forever); !cutoff.IsZero() || !first.Alive(cutoff) {
		t.Errorf("the cutoff is %s", cutoff)
	}
	if end := retention.Add(now, retention.Forever); !end.IsZero() {
		t.Errorf("for ever ends at %s", end)
	}
	if end := retention.Add(now, day); end != now.Add(day) {
		t.Errorf("a day ends at %s", end)
	}
}

// TestAlive_EndsAtAdd checks that a reading is alive before the time that Add returns, and expired
// from then on.
func TestAlive_EndsAtAdd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		at := func(name string) time.Time {
			return now.Add(time.Duration(rapid.Int64Range(-int64(2*day), int64(2*day)).Draw(t, name)))
		}
		r := varve.Reading{Time: at("event"), Arrived: at("arrived")}
		keep := time.Duration(rapid.Int64Range(int64(retention.MinRetention), int64(3*day)).Draw(t, "keep"))
		last := r.Time
		if r.Arrived.After(last) {
			last = r.Arrived
		}
		end := retention.Add(last, keep)
		for _, when := range []time.Time{at("when"), end.Add(-1), end, end.Add(1)} {
			if got := r.Alive(retention.Cutoff(when, keep)); got != when.Before(end) {
				t.Fatalf("%s before its end it is alive: %t", end.Sub(when), got)
			}
		}
	})
}

const (
	day  = 24 * time.Hour
	year = 365 * day
)
