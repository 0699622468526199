package prometheus_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/devices"
	"github.com/varvedb/varve/engine"
	"github.com/varvedb/varve/prometheus"
	"github.com/varvedb/varve/prometheus/promtest"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/local"
	"github.com/varvedb/varve/store/mem"
)

// noon is the time of the clock of a new world.
var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

type world struct {
	t      testing.TB
	clock  time.Time
	engine *engine.Engine
	promql *prometheus.Engine
}

// newWorld returns a world over a store in memory, or in a folder.
func newWorld(t testing.TB, embedded bool, o prometheus.Options) *world {
	t.Helper()
	w := &world{t: t, clock: noon}
	var s store.Store = mem.New(w.now)
	if embedded {
		var err error
		if s, err = local.Open(local.Options{Dir: t.TempDir(), MinFree: -1}); err != nil {
			t.Fatal(err)
		}
	}
	var err error
	if w.engine, err = engine.Open(context.Background(), engine.Options{Store: s, Now: w.now, Holder: "test"}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.engine.Close(); err != nil {
			t.Error(err)
		}
	})
	o.Readings, o.Rollups, o.Streams, o.Devices, o.Now = w.engine.Query, w.engine.Rollups, w.engine.Streams, w.engine.Devices, w.now
	w.promql = prometheus.New(o)
	return w
}

func (w *world) now() time.Time { return w.clock }

// send writes readings, and expects each to be stored or duplicate.
func (w *world) send(readings ...varve.Reading) {
	w.t.Helper()
	for len(readings) > 0 {
		batch := readings[:min(len(readings), 500)]
		readings = readings[len(batch):]
		list, verdicts := make([]varve.Reading, len(batch)), make([]varve.Verdict, len(batch))
		for i := range batch {
			list[i] = batch[i].Clone()
			if v := list[i].Normalize(); v.Outcome == varve.Rejected {
				w.t.Fatalf("%s: %s", &list[i], v)
			}
		}
		q, err := w.engine.Router.Admit()
		if err == nil {
			err = q.Write(context.Background(), list, verdicts)
			q.Done()
		}
		for i := range verdicts {
			if err == nil && !verdicts[i].HasStored() {
				err = errors.New(verdicts[i].String())
			}
		}
		if err != nil {
			w.t.Fatal(err)
		}
	}
}

func (w *world) register(d *devices.Device) {
	w.t.Helper()
	if _, err := w.engine.Devices.Put(context.Background(), *d, w.engine.Query); err != nil {
		w.t.Fatal(err)
	}
}

// addFleet registers the fleet of promtest, and writes its readings of 36 hours. It returns the samples.
func (w *world) addFleet() (samples []promtest.Sample) {
	w.t.Helper()
	fleet := promtest.Fleet()
	for i := range fleet {
		d := &fleet[i]
		attributes, err := varve.JSONValue([]byte(`{"site":"` + d.Site + `","floor":` + d.Floor + `}`))
		if err != nil {
			w.t.Fatal(err)
		}
		w.register(&devices.Device{Tenant: varve.DefaultTenant, Device: d.Name, Type: "sensor", Status: devices.Active, Attributes: attributes})
		readings := d.Readings(varve.Window{From: noon.Add(-36 * time.Hour), To: noon})
		w.send(readings...)
		for _, list := range d.Samples(readings) {
			samples = append(samples, list...)
		}
	}
	return samples
}
