package alerts_test

import (
	"testing"
	"testing/synctest"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/devices"
)

// TestObserve_RegistersDevicesOfEachTenant covers one write with readings of several tenants. If
// all readings are rejected, no rules are read.
func TestObserve_RegistersDevicesOfEachTenant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		readings := []varve.Reading{{}, reading("a", noon), {}, reading("b", noon), reading("c", noon), {}}
		readings[3].Tenant = "other"
		verdicts := make([]varve.Verdict, len(readings))
		for i := range readings {
			verdicts[i].Outcome = varve.Stored
			if readings[i].Device == "" {
				verdicts[i] = varve.Reject(varve.CodeMalformed, "no")
			}
		}
		must(t, w.Observe(t.Context(), noon, readings, verdicts))
		synctest.Wait()
		for _, c := range []struct {
			tenant string
			want   int
		}{{tenant, 2}, {"other", 1}, {"", 0}} {
			if n := len(w.devicesOf(c.tenant)); n != c.want {
				t.Errorf("tenant %q has %d devices, want %d", c.tenant, n, c.want)
			}
		}
		before := w.items.Queries
		must(t, w.Observe(t.Context(), noon, readings[:1], verdicts[:1]))
		if w.items.Queries != before {
			t.Error("rules were asked for a reading that was rejected")
		}
	})
}

// devicesOf returns the registered devices of a tenant.
func (w *world) devicesOf(tenant string) []devices.Device {
	w.t.Helper()
	page, err := w.Devices.List(w.t.Context(), devices.Query{Tenant: tenant})
	must(w.t, err)
	return page.Items
}
