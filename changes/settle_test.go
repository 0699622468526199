package changes_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/changes"
	"github.com/varvedb/varve/engine"
	"github.com/varvedb/varve/store/mem"
)

// TestAwaitSettled_WaitsForClockAfterCrash opens a second engine while the first one has not ended. The
// arrivals of the second one are ahead of the clock. After AwaitSettled, its reading must be settled, and the
// settled time must not be in the future.
func TestAwaitSettled_WaitsForClockAfterCrash(t *testing.T) {
	var ticks atomic.Int64
	now := func() time.Time { return start.Add(time.Duration(ticks.Add(1)) * 50 * time.Millisecond) }
	store := lasting{Store: mem.New(now), mu: new(sync.Mutex), stored: map[string]time.Time{}}
	open := func() *engine.Engine {
		e, err := engine.Open(t.Context(), engine.Options{Store: store, Now: now, Indexed: func(string) bool { return true }})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := e.Close(); err != nil {
				t.Error(err)
			}
		})
		return e
	}
	if _, err := open().Changes.Open(t.Context(), changes.Query{Stream: weather}); err != nil { // stores a settled time of the next seconds
		t.Fatal(err)
	}
	second := open()
	q, err := second.Router.Admit()
	if err != nil {
		t.Fatal(err)
	}
	readings := []varve.Reading{{
		Series: varve.Series{Tenant: weather.Tenant, Stream: weather.Name, Device: "a"}, Time: start, Fields: []varve.Field{{Name: "n", Value: varve.IntValue(1)}},
	}}
	verdicts := make([]varve.Verdict, 1)
	if err := q.Write(t.Context(), readings, verdicts); err != nil || verdicts[0].Outcome != varve.Stored {
		t.Fatal(verdicts, err)
	}
	q.Done()
	if ahead := second.Router.LastArrival().Sub(now()); ahead < time.Second {
		t.Fatalf("arrivals are ahead of the clock by %s, want seconds", ahead)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := second.Changes.AwaitSettled(ended); varve.FailureOf(err) != varve.Conflict {
		t.Errorf("with a context that has ended: %v", err)
	}
	if err := second.Changes.AwaitSettled(t.Context()); err != nil {
		t.Fatal(err)
	}
	rows, err := second.Changes.Open(t.Context(), changes.Query{Stream: weather})
	if err != nil {
		t.Fatal(err)
	}
	if page, err := rows.Next(t.Context()); err != nil || len(page) != 1 || rows.Settled().After(now()) {
		t.Errorf("%d readings, %v, settled before %s, and it is %s: want one reading, and no time in the future", len(page), err, rows.Settled(), now())
	}
}
