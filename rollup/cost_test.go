package rollup_test

import (
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/decimal"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/query"
	"github.com/varvedb/varve/rollup"
	"github.com/varvedb/varve/router"
	"github.com/varvedb/varve/store/dynamo"
	"github.com/varvedb/varve/streams"
	"github.com/varvedb/varve/tests/dynamotest"
)

// onDynamo is a world whose store is DynamoDB. It has one router and one aggregator.
type onDynamo struct {
	*world
	t          *testing.T
	store      *dynamo.Store
	source     *query.Engine
	aggregator *rollup.Aggregator
	markers    int // number of processed markers
	runs       int
	idle       float64 // request units of a run without due markers
}

func newOnDynamo(t *testing.T, clock time.Time) *onDynamo {
	w := newWorld(t) // provides the clock and the policy
	w.clock = clock
	s, err := dynamo.Open(t.Context(), dynamo.Options{
		Client: dynamotest.Client(dynamotest.Dynoxide.Start(t)), Registry: "t_registry", Now: w.now,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	known := streams.New(s, w.now)
	raw := query.New(query.Options{Reader: s, Catalog: s, Streams: known, Policy: w.policy, Now: w.now})
	w.routers[0] = router.New(router.Options{
		Writer: s, Creator: s, Streams: known, Policy: w.policy, Grid: grid.DefaultPolicy(), Now: w.now,
		Tracker: rollup.NewTracker(s, w.now),
	})
	counter := rollup.NewAggregator(rollup.AggregatorOptions{Items: s, Source: raw, Now: w.now, Holder: "worker"})
	return &onDynamo{world: w, t: t, store: s, source: raw, aggregator: counter}
}

func (d *onDynamo) units() float64 { return d.store.Usage().RegistryWrites.Units }

func (d *onDynamo) run() (taken int) {
	d.t.Helper()
	before := d.units()
	n, err := d.aggregator.Run(d.t.Context())
	if err != nil {
		d.t.Fatal(err)
	}
	if n == 0 {
		d.idle = d.units() - before
	}
	d.markers, d.runs = d.markers+n, d.runs+1
	return n
}

func (d *onDynamo) report(at time.Time) {
	d.t.Helper()
	r := d.reading("a", at)
	r.Fields = []varve.Field{
		{Name: "battery", Value: varve.IntValue(77)}, {Name: "humidity", Value: varve.IntValue(45)},
		{Name: "temperature", Value: varve.NumberValue(decimal.FromScaled(224, -1))},
	}
	if v := d.send(0, nil, r); v[0].Outcome != varve.Stored {
		d.t.Fatal(v)
	}
}

// TestCost_OnDynamoDB measures the cost of a device that reports every minute for a day,
// sometimes late. Roll-ups may cost at most a tenth of a write unit per reading, besides the
// fixed cost of aggregator runs.
func TestCost_OnDynamoDB(t *testing.T) {
	d := newOnDynamo(t, time.Date(2026, 11, 20, 0, 0, 30, 0, time.UTC))
	for i := range 2 { // creates tables and registers streams before the measurement
		d.report(d.clock.Add(-48*time.Hour + time.Duration(i)*time.Second))
	}
	d.clock = d.clock.Add(3 * time.Hour)
	for d.run() > 0 {
	}
	d.run()
	before, begin, sent := d.units(), d.clock, 0
	d.markers, d.runs = 0, 0
	for ; d.clock.Before(begin.Add(24 * time.Hour)); d.clock = d.clock.Add(time.Minute) {
		at := d.clock
		if sent%10 == 0 {
			at = at.Add(-3*time.Minute - time.Second)
		}
		d.report(at)
		if sent++; sent%60 == 0 {
			d.run()
		}
	}
	d.clock = d.clock.Add(3 * time.Hour)
	d.run()
	each := (d.units() - before - d.idle*float64(d.runs)) / float64(sent)
	t.Logf("%.4f units for each of %d readings, %d marks; a run costs %v", each, sent, d.markers, d.idle)
	if each > 0.1 || d.markers < 24 {
		t.Errorf("%.4f units for each of %d readings, %d marks", each, sent, d.markers)
	}
	p, err := rollup.NewReader(d.store, d.source, d.resent).Read(t.Context(), rollup.Query{
		Series: d.reading("a", begin).Series, Period: rollup.Daily, Window: varve.Window{From: begin.Add(-12 * time.Hour), To: d.clock},
	})
	total := int64(0)
	for _, r := range p.Rollups {
		total += r.Readings
	}
	if err != nil || total != int64(sent) {
		t.Errorf("%d readings are counted, of %d: %v", total, sent, err)
	}
}
