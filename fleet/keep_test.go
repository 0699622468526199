package fleet_test

import (
	"github.com/varvedb/varve/fleet"
	"github.com/varvedb/varve/retention"
	"testing"
	"time"
)

const day = 24 * time.Hour

// TestKeep: a device's retention is in force within ten seconds, and gone as
// soon; a tenant that never had one costs a look every ten seconds.
func TestKeep(t *testing.T) {
	w, ctx := newWorld(t), t.Context()
	expect := func(want time.Duration) {
		t.Helper()
		if keep, err := w.Keep(ctx, tenant, "d"); err != nil || keep != want {
			t.Errorf("keeps %s, %v: want %s", keep, err, want)
		}
	}
	for range 1000 {
		expect(retention.Forever)
	}
	if w.items.gets != 1 {
		t.Errorf("%d looks", w.items.gets)
	}
	other := fleet.New(fleet.Options{Items: w.items, Source: w, Now: w.now, Holder: "other", Policy: &retention.Policy{
		Classes: []retention.Class{{Name: "default", Retention: 365 * day}},
	}})
	defer other.Close()
	_, err := other.PutDevice(ctx, fleet.Device{Tenant: tenant, Device: "d", Retention: 30 * day})
	must(t, err)
	w.advance(10 * time.Second)
	expect(30 * day)
	_, err = other.PutDevice(ctx, fleet.Device{Tenant: tenant, Device: "d"})
	must(t, err)
	expect(30 * day)
	w.advance(10 * time.Second)
	expect(retention.Forever)
	if keep, err := w.Keep(ctx, tenant, "nobody"); err != nil || keep != retention.Forever {
		t.Errorf("a device that is not registered keeps %s, %v", keep, err)
	}
}

// TestRetentionOfClasses: a device's retention may be as long as the classes of
// its streams keep, and the error for a longer one says what would be right.
func TestRetentionOfClasses(t *testing.T) {
	w, ctx := newWorld(t), t.Context()
	ledger := reading("d", noon)
	ledger.Stream = "ledger"
	w.send(ledger)
	d := fleet.Device{Tenant: tenant, Device: "d", Retention: 10 * 365 * day}
	_, err := w.PutDevice(ctx, d)
	must(t, err)
	w.send(reading("d", noon))
	_, err = w.PutDevice(ctx, d)
	invalid(t, err, "retention", "10y is longer than the 1y of class default, to which its stream weather belongs: put its stream into class audit, which keeps forever")
	d.Retention = 365 * day
	_, err = w.PutDevice(ctx, d)
	must(t, err)
}
