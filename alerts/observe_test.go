package alerts_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/alerts"
	"github.com/varvedb/varve/devices"
	"github.com/varvedb/varve/registry/registrytest"
	"github.com/varvedb/varve/store"
)

// TestObserve_RegistersDevicesOfEachTenant covers one write with readings of several tenants.
// Each device must be registered for its tenant. If all readings are rejected, no rules may be read.
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

// meetingItems is a registry. While meet is true, its queries wait for each other: the first ones return
// when four of them are running.
type meetingItems struct {
	*registrytest.Items
	meet    atomic.Bool
	running atomic.Int32
	met     chan struct{}
}

func (s *meetingItems) Query(ctx context.Context, q store.ItemQuery) (store.ItemPage, error) {
	if s.meet.Load() {
		if s.running.Add(1) == 4 {
			close(s.met)
		}
		select {
		case <-s.met:
		case <-ctx.Done():
			return store.ItemPage{}, ctx.Err()
		}
	}
	return s.Items.Query(ctx, q)
}

// TestObserve_EvaluatesSeriesAtOnce writes one reading of each of eight devices, in one write. At least
// four of the evaluations must wait for the registry at the same time.
func TestObserve_EvaluatesSeriesAtOnce(t *testing.T) {
	items := &meetingItems{met: make(chan struct{})}
	w := newWorld(t, func(o *alerts.Options) {
		items.Items = o.Items.(*registrytest.Items)
		o.Items = items
	})
	w.rule(above(0, 0))
	w.send(reading("first", noon)) // reads the rules
	items.meet.Store(true)
	readings := make([]varve.Reading, 8)
	for i := range readings {
		readings[i] = reading(fmt.Sprint(i), noon)
	}
	verdicts := w.store(readings)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	must(t, w.Observe(ctx, noon, readings, verdicts))
	for i, v := range verdicts {
		if v.Outcome != varve.Stored {
			t.Errorf("device %d: %v", i, v)
		}
	}
	if n := len(w.alerts(alerts.AlertList{})); n != 9 {
		t.Errorf("%d alerts, want 9", n)
	}
}

func (w *world) devicesOf(tenant string) []devices.Device {
	w.t.Helper()
	page, err := w.Devices.List(w.t.Context(), devices.Query{Tenant: tenant})
	must(w.t, err)
	return page.Items
}
