package rollup_test

import (
	"context"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/bucket"
	"github.com/varvedb/varve/query"
	"github.com/varvedb/varve/rollup"
	"github.com/varvedb/varve/router"
	"github.com/varvedb/varve/store/dynamo"
	"github.com/varvedb/varve/streams"
	"github.com/varvedb/varve/tests/dynamotest"
)

// TestCostOnDynamoDB: a device that reports every minute for a day, some of it
// late by a few minutes, costs at most a tenth of a write unit more for each
// reading. What a run of the worker costs by itself is shared by all devices.
func TestCostOnDynamoDB(t *testing.T) {
	w := newWorld(t) // its clock and policy
	w.clock = time.Date(2026, 11, 20, 0, 0, 30, 0, time.UTC)
	s, err := dynamo.Open(t.Context(), dynamo.Options{
		Client: dynamotest.Client(dynamotest.Dynoxide.Start(t)), Registry: "t_registry", Now: w.now,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	known := streams.New(s, w.now)
	raw := query.New(query.Options{Reader: s, Catalog: s, Streams: known, Policy: w.policy, Now: w.now})
	w.routers[0] = router.New(router.Options{
		Writer: s, Creator: s, Streams: known, Policy: w.policy, Grid: bucket.DefaultPolicy(), Now: w.now,
		Marker: rollup.NewMarker(s, w.now),
	})
	counter := rollup.NewWorker(rollup.WorkerOptions{Items: s, Raw: raw, Now: w.now, Holder: "worker"})
	units := func() float64 { return s.Usage().RegistryWrites.Units }
	var idle float64 // what runs cost that find nothing
	work := func() int {
		for range 2 {
			before := units()
			n, err := counter.Run(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			if n > 0 {
				idle = 0
				return n
			}
			idle = units() - before
		}
		return 0
	}
	reading := func(at time.Time) varve.Reading {
		r := w.reading("a", at)
		r.Fields = []varve.Field{
			{Name: "battery", Value: varve.IntValue(77)}, {Name: "humidity", Value: varve.IntValue(45)},
			{Name: "temperature", Value: varve.NumberValue(varve.ScaledInt(224, -1))},
		}
		return r
	}
	for range 2 { // tables and streams are noted; and that is over
		w.send(0, nil, reading(w.clock.Add(-48*time.Hour)))
	}
	w.clock = w.clock.Add(3 * time.Hour)
	for work() > 0 {
	}
	perRun := idle
	before, marks, runs, sent := units(), 0, 0, 0
	begin := w.clock
	for ; w.clock.Before(begin.Add(24 * time.Hour)); w.clock = w.clock.Add(time.Minute) {
		at := w.clock
		if sent%10 == 0 {
			at = at.Add(-3*time.Minute - time.Second)
		}
		if v := w.send(0, nil, reading(at)); v[0].Outcome != varve.Stored {
			t.Fatal(v)
		}
		if sent++; sent%60 == 0 {
			n, err := counter.Run(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			marks, runs = marks+n, runs+1
		}
	}
	w.clock = w.clock.Add(3 * time.Hour)
	n, err := counter.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	marks, runs = marks+n, runs+1
	each := (units() - before - perRun*float64(runs)) / float64(sent)
	t.Logf("%.4f units for each of %d readings, %d marks; a run costs %v", each, sent, marks, perRun)
	if each > 0.1 || marks < 24 {
		t.Errorf("%.4f units for each of %d readings, %d marks", each, sent, marks)
	}
	p, err := rollup.NewReader(s, raw).Read(t.Context(), rollup.Query{
		Series: w.reading("a", begin).Series, Period: rollup.Daily, Window: varve.Window{From: begin.Add(-12 * time.Hour), To: w.clock},
	})
	total := int64(0)
	for _, r := range p.Rollups {
		total += r.Readings
	}
	if err != nil || total != int64(sent) {
		t.Errorf("%d readings are counted, of %d: %v", total, sent, err)
	}
}
