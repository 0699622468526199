package access

import (
	"fmt"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/fleet"
)

// ofFleet returns the patterns of devices, logs, rules and alerts. Patterns that
// add items come last.
func ofFleet() []pattern {
	return []pattern{
		{"AP1", func(t *testing.T, w *world, _ int) {
			if _, err := w.Fleet.Device(t.Context(), varve.DefaultTenant, sensor.Device); err != nil {
				t.Fatal(err)
			}
		}},
		{"AP2", func(t *testing.T, w *world, _ int) {
			page, err := w.Fleet.Devices(t.Context(), fleet.DeviceList{Tenant: varve.DefaultTenant, Status: fleet.Active})
			listed(t, 100, len(page.Items), err)
		}},
		alerts("AP5", 2, fleet.AlertList{Device: boiler.Device}),
		alerts("AP6", 22, fleet.AlertList{Severity: fleet.Critical}),
		logs("1.10", 1, fleet.LogList{Device: boiler.Device, State: "WARNING4"}, "2026-11-19T04"),
		logs("3.2", 20, fleet.LogList{Device: boiler.Device}, "2026-11"),
		logs("3.3", 5, fleet.LogList{Device: boiler.Device, State: "WARNING4"}, "2026-11"),
		logs("3.4", 20, fleet.LogList{Operator: "liz"}, "2026-11-19"),
		logs("3.5", 5, fleet.LogList{Supervisor: "sara"}, "2026"),
		logs("3.6", 5, fleet.LogList{Supervisor: "sara", State: "WARNING4"}, "2026"),
		logs("3.7", 5, fleet.LogList{Supervisor: "sara", State: "WARNING4"}, "2026-11-19"),
		{"3.1", func(t *testing.T, w *world, i int) {
			w.log(t, fleet.Log{
				Tenant: varve.DefaultTenant, Device: boiler.Device, Time: noon.Add(-time.Duration(i) * time.Second),
				State: "WARNING1", Operator: "liz", EscalatedTo: "sara",
			})
		}},
		{"0.1", seen},
		{"0.2", func(t *testing.T, w *world, i int) {
			w.send(t, valued(boiler, noon.Add(time.Duration(i)*time.Second), 20))
		}},
		{"0.3", func(t *testing.T, w *world, i int) {
			_, _, err := w.Fleet.AddRule(t.Context(), fleet.Rule{
				Tenant: "rules", ID: fmt.Sprintf("r%d", i), Stream: "s", Field: "v", Comparison: ">", Threshold: varve.IntValue(30), Severity: fleet.Info,
			})
			if err != nil {
				t.Fatal(err)
			}
		}},
		{"0.4", func(t *testing.T, w *world, _ int) {
			rules, err := w.Fleet.Rules(t.Context(), varve.DefaultTenant)
			listed(t, 1, len(rules), err)
		}},
		{"0.5", resolve},
		{"0.6", func(t *testing.T, w *world, i int) {
			d := fleet.Device{Tenant: varve.DefaultTenant, Device: sensor.Device, Location: fmt.Sprint("place ", i)}
			if _, err := w.Fleet.PutDevice(t.Context(), d); err != nil {
				t.Fatal(err)
			}
		}},
		{"0.7", func(t *testing.T, w *world, i int) {
			first := reading(varve.Series{Tenant: varve.DefaultTenant, Stream: sensor.Stream, Device: fmt.Sprintf("new_%d", i)}, noon)
			if err := w.Fleet.Watch(t.Context(), noon, []varve.Reading{first}, make([]varve.Verdict, 1)); err != nil {
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

func alerts(id string, want int, l fleet.AlertList) pattern {
	return pattern{id, func(t *testing.T, w *world, _ int) {
		l.Tenant = varve.DefaultTenant
		page, err := w.Fleet.Alerts(t.Context(), l)
		listed(t, want, len(page.Items), err)
	}}
}

func logs(id string, want int, l fleet.LogList, stretch string) pattern {
	return pattern{id, func(t *testing.T, w *world, _ int) {
		l.Tenant, l.Window, l.Order = varve.DefaultTenant, during(t, stretch), varve.Descending
		page, err := w.Fleet.Logs(t.Context(), l)
		listed(t, want, len(page.Items), err)
	}}
}

// seen reports a device in a new minute, and waits until its last-seen time is
// written.
func seen(t *testing.T, w *world, i int) {
	before := w.store.Usage().RegistryWrites.Requests
	arrived := noon.Add(time.Duration(i+1) * time.Minute)
	if err := w.Fleet.Watch(t.Context(), arrived, []varve.Reading{reading(sensor, arrived)}, make([]varve.Verdict, 1)); err != nil {
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

// resolve resolves an alert by hand.
func resolve(t *testing.T, w *world, i int) {
	a, err := w.Fleet.ResolveAlert(t.Context(), varve.DefaultTenant, w.open[i])
	if err != nil || a.ResolvedBy != fleet.ByHand {
		t.Fatalf("%+v: %v", a, err)
	}
}
