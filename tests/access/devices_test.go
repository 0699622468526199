package access

import (
	"fmt"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/alerts"
	"github.com/varvedb/varve/devicelog"
	"github.com/varvedb/varve/devices"
)

// ofDevices returns the access patterns about devices, logs, rules and alerts. The lists come
// before the patterns that add to them.
func ofDevices() []pattern {
	return []pattern{
		{"AP1", func(t *testing.T, w *world, _ int) {
			if _, err := w.Devices.Get(t.Context(), varve.DefaultTenant, sensor.Device); err != nil {
				t.Fatal(err)
			}
		}},
		{"AP2", func(t *testing.T, w *world, _ int) {
			page, err := w.Devices.List(t.Context(), devices.Query{Tenant: varve.DefaultTenant, Status: devices.Active})
			listed(t, 100, len(page.Items), err)
		}},
		alertPages("AP5", 2, alerts.AlertList{Device: boiler.Device}),
		alertPages("AP6", 22, alerts.AlertList{Severity: alerts.Critical}),
		logPages("1.10", 1, devicelog.Query{Device: boiler.Device, State: "WARNING4"}, "2026-11-19T04"),
		logPages("3.2", 20, devicelog.Query{Device: boiler.Device}, "2026-11"),
		logPages("3.3", 5, devicelog.Query{Device: boiler.Device, State: "WARNING4"}, "2026-11"),
		logPages("3.4", 20, devicelog.Query{Operator: "liz"}, "2026-11-19"),
		logPages("3.5", 5, devicelog.Query{Supervisor: "sara"}, "2026"),
		logPages("3.6", 5, devicelog.Query{Supervisor: "sara", State: "WARNING4"}, "2026"),
		logPages("3.7", 5, devicelog.Query{Supervisor: "sara", State: "WARNING4"}, "2026-11-19"),
		logPages("3.8", 5, devicelog.Query{Device: boiler.Device, State: "WARNING*"}, "2026-11"),
		logPages("3.9", 5, devicelog.Query{Supervisor: "sara", State: "WARNING*"}, "2026"),
		{"3.1", func(t *testing.T, w *world, i int) {
			w.log(t, devicelog.Entry{
				Tenant: varve.DefaultTenant, Device: boiler.Device, Time: noon.Add(-time.Duration(i) * time.Second),
				State: "WARNING1", Operator: "liz", EscalatedTo: "sara",
			})
		}},
		{"0.1", seen},
		{"0.2", func(t *testing.T, w *world, i int) {
			w.send(t, valued(boiler, noon.Add(time.Duration(i)*time.Second), 20))
		}},
		{"0.3", func(t *testing.T, w *world, i int) {
			_, _, err := w.Alerts.AddRule(t.Context(), alerts.Rule{
				Tenant: "rules", ID: fmt.Sprintf("r%d", i), Stream: "s", Field: "v", Comparison: ">", Threshold: varve.IntValue(30), Severity: alerts.Info,
			})
			if err != nil {
				t.Fatal(err)
			}
		}},
		{"0.4", func(t *testing.T, w *world, _ int) {
			rules, err := w.Alerts.Rules(t.Context(), varve.DefaultTenant)
			listed(t, 1, len(rules), err)
		}},
		{"0.5", resolve},
		{"0.6", func(t *testing.T, w *world, i int) {
			d := devices.Device{Tenant: varve.DefaultTenant, Device: sensor.Device, Location: fmt.Sprint("place ", i)}
			if _, err := w.Devices.Put(t.Context(), d, w.Query); err != nil {
				t.Fatal(err)
			}
		}},
		{"0.7", func(t *testing.T, w *world, i int) {
			first := reading(varve.Series{Tenant: varve.DefaultTenant, Stream: sensor.Stream, Device: fmt.Sprintf("new_%d", i)}, noon)
			if err := w.Alerts.Observe(t.Context(), noon, []varve.Reading{first}, make([]varve.Verdict, 1)); err != nil {
				t.Fatal(err)
			}
		}},
	}
}

func listed(t *testing.T, want, got int, err error) {
	t.Helper()
	if err != nil || got != want {
		t.Fatalf("%d, want %d: %v", got, want, err)
	}
}

func alertPages(id string, want int, l alerts.AlertList) pattern {
	return pattern{id, func(t *testing.T, w *world, _ int) {
		l.Tenant = varve.DefaultTenant
		page, err := w.Alerts.Alerts(t.Context(), l)
		listed(t, want, len(page.Items), err)
	}}
}

func logPages(id string, want int, l devicelog.Query, stretch string) pattern {
	return pattern{id, func(t *testing.T, w *world, _ int) {
		l.Tenant, l.Window, l.Order = varve.DefaultTenant, during(t, stretch), varve.Descending
		page, err := w.Logs.List(t.Context(), l)
		listed(t, want, len(page.Items), err)
	}}
}

// seen reports a device in a new minute, and waits until its last-seen time is stored.
func seen(t *testing.T, w *world, i int) {
	before := w.store.Usage().RegistryWrites.Requests
	arrived := noon.Add(time.Duration(i+1) * time.Minute)
	if err := w.Alerts.Observe(t.Context(), arrived, []varve.Reading{reading(sensor, arrived)}, make([]varve.Verdict, 1)); err != nil {
		t.Fatal(err)
	}
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for w.store.Usage().RegistryWrites.Requests == before {
		select {
		case <-tick.C:
		case <-t.Context().Done():
			t.Fatal("the last-seen time was not written")
		}
	}
}

func resolve(t *testing.T, w *world, i int) {
	a, err := w.Alerts.ResolveAlert(t.Context(), varve.DefaultTenant, w.open[i])
	if err != nil || a.ResolvedBy != alerts.ByHand {
		t.Fatalf("%+v: %v", a, err)
	}
}
