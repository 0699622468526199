package rollup_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/rollup"
	"github.com/varvedb/varve/store/mem"
)

// TestBacklog: marks that are due are counted until a worker has taken them, and
// those that are not due yet are not.
func TestBacklog(t *testing.T) {
	now := time.Date(2026, 11, 16, 12, 0, 0, 0, time.UTC)
	clock := func() time.Time { return now }
	items := mem.New(clock)
	marker := rollup.NewMarker(items, clock)
	for i := range 300 {
		r := []varve.Reading{{
			Series: varve.Series{Tenant: "acme", Stream: "weather", Device: fmt.Sprintf("d%d", i)}, Time: now, Arrived: now,
			Fields: []varve.Field{{Name: "v", Value: varve.IntValue(1)}},
		}}
		if _, err := marker.Mark(t.Context(), now, r, make([]varve.Verdict, 1)); err != nil {
			t.Fatal(err)
		}
	}
	w := rollup.NewWorker(rollup.WorkerOptions{Items: items, Raw: nothing{}, Now: clock, Holder: "w"})
	want := func(what string, most, least int) {
		t.Helper()
		if n, err := w.Backlog(t.Context()); err != nil || n < least || n > most {
			t.Errorf("%s: %d, %v, want %d to %d", what, n, err, least, most)
		}
	}
	want("at once", 0, 0)
	now = now.Add(2 * time.Hour)
	want("when they are due", 600, 300)
	if _, err := w.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	want("when they were taken", 0, 0)
}

// nothing has no readings.
type nothing struct{}

func (nothing) Each(context.Context, varve.Series, varve.Window, func(*varve.Reading, bool)) error {
	return nil
}
