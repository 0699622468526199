package dynamo_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/engine"
	"github.com/varvedb/varve/query"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/dynamo"
)

// repair plans and applies a repair. It returns the repairs as text.
func repair(t *testing.T, e *engine.Engine, o dynamo.Repairing) string {
	t.Helper()
	s := e.Store.(*dynamo.Store) //nolint:forcetypeassert // startEngine opened it
	p, err := s.PlanRepair(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	items, err := e.Streams.PlanRepairs(t.Context(), p.Streams)
	if err != nil {
		t.Fatal(err)
	}
	var done []string
	for _, it := range items {
		done = append(done, fmt.Sprintf("%s/%s missing=%v %v %s %v", it.Tenant, it.Name, it.Missing, it.Classes, it.Window, it.Shards))
	}
	for _, row := range p.Rows {
		done = append(done, fmt.Sprintf("row %s/%s %s %v", row.Tenant, row.Stream, row.Window, row.Shards))
	}
	if err := e.Streams.Apply(t.Context(), items); err != nil {
		t.Fatal(err)
	}
	if err := s.Repair(t.Context(), &p, false); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(slices.Compact(done))
}

// TestRepair_RestoresStreams deletes the registry items of streams, with and without their stream
// rows. A repair must restore them, and a second repair must find nothing to do.
func TestRepair_RestoresStreams(t *testing.T) {
	t.Parallel()
	for _, em := range both() {
		t.Run(em.Name, func(t *testing.T) {
			t.Parallel()
			url := em.Start(t)
			layouts := map[string]store.Layout{"weather": {RowWindow: 15 * time.Minute}}
			e := startEngine(t, url, layouts)
			var list []varve.Reading
			for i := range 90 {
				list = append(list, sensor(someTime.Add(time.Duration(i)*time.Minute), "v", varve.IntValue(int64(i))))
			}
			put(t, e, list...)
			if _, err := e.Streams.Spread(t.Context(), "acme", "weather", "sensor_01", 5); err != nil {
				t.Fatal(err)
			}
			e = startEngine(t, url, layouts)
			for i := range list {
				list[i].Time = list[i].Time.Add(3 * time.Hour)
			}
			put(t, e, list...)
			if got := repair(t, e, dynamo.Repairing{}); got != "[]" {
				t.Errorf("repair of sound tables: %s, want none", got)
			}
			lose := func() {
				if err := e.Store.Delete(t.Context(), store.Key{PK: "TENANT#acme", SK: "STREAM#weather"}); err != nil {
					t.Fatal(err)
				}
			}
			check := func(when string) {
				t.Helper()
				again := startEngine(t, url, nil)
				all, err := again.Streams.List(t.Context(), "acme")
				if err != nil || len(all) != 1 {
					t.Errorf("%s: %d streams, %v", when, len(all), err)
				}
				q := query.Query{Series: list[0].Series, Window: varve.AllTime(), Limit: 7}
				if n := countReadings(t, again, q); n != 180 {
					t.Errorf("%s: %d readings of 180", when, n)
				}
				if got := repair(t, again, dynamo.Repairing{Scan: true}); got != "[]" {
					t.Errorf("%s, second repair: %s, want none", when, got)
				}
			}
			lose()
			if got, want := repair(t, e, dynamo.Repairing{}), "[acme/weather missing=true [default] 15m0s map[sensor_01:5]]"; got != want {
				t.Errorf("lost: %s, want %s", got, want)
			}
			check("lost")
			lose()
			eraseStreamRows(t, url, e)
			if got, want := repair(t, e, dynamo.Repairing{}), "[acme/weather missing=true [default] 1h0m0s map[sensor_01:5] row acme/weather 1h0m0s map[sensor_01:5]]"; got != want {
				t.Errorf("all lost: %s, want %s", got, want)
			}
			check("all lost")
		})
	}
}
