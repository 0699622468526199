package devices_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/devices"
	"github.com/varvedb/varve/internal/randomtest"
	"github.com/varvedb/varve/registry"
	"github.com/varvedb/varve/registry/registrytest"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/local"
)

// TestPut_ReplacesDevice checks that Put replaces everything in a device except its time of creation, and
// that Delete removes the device.
func TestPut_ReplacesDevice(t *testing.T) {
	w, ctx := newWorld(t), t.Context()
	attributes, err := varve.JSONValue([]byte(`{"floor":2}`))
	must(t, err)
	in := devices.Device{Tenant: tenant, Device: "s/1", Name: "Warehouse Temp A", Type: "sensor", Location: "Hall 3", Firmware: "2.1.0", Attributes: attributes, Retention: time.Hour}
	got, err := w.Put(ctx, in, w)
	must(t, err)
	in.Status, in.CreatedAt, in.UpdatedAt = devices.Active, noon, noon
	if got != in {
		t.Errorf("got  %+v\nwant %+v", got, in)
	}
	w.advance(time.Hour)
	got, err = w.Put(ctx, devices.Device{Tenant: tenant, Device: "s/1", Status: devices.Maintenance}, w)
	must(t, err)
	want := devices.Device{Tenant: tenant, Device: "s/1", Status: devices.Maintenance, CreatedAt: noon, UpdatedAt: noon.Add(time.Hour)}
	if got != want {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if _, err := w.Get(ctx, "other", "s/1"); varve.FailureOf(err) != varve.NotFound {
		t.Errorf("another tenant reads it: %v", err)
	}
	must(t, w.Delete(ctx, tenant, "s/1"))
	if _, err := w.Get(ctx, tenant, "s/1"); varve.FailureOf(err) != varve.NotFound {
		t.Errorf("exists after its deletion: %v", err)
	}
	if err := w.Delete(ctx, tenant, "s/1"); varve.FailureOf(err) != varve.NotFound {
		t.Errorf("deleted twice: %v", err)
	}
}

// TestPut_CreatesOnceUnderConcurrency checks that many concurrent calls for a new device all
// succeed, with one time of creation.
func TestPut_CreatesOnceUnderConcurrency(t *testing.T) {
	w := newWorld(t)
	var wg sync.WaitGroup
	created := make([]time.Time, 20)
	for i := range created {
		wg.Go(func() {
			w.advance(time.Second)
			d, err := w.Put(t.Context(), devices.Device{Tenant: tenant, Device: "d", Name: fmt.Sprint(i)}, w)
			if err != nil {
				t.Error(err)
			}
			created[i] = d.CreatedAt
		})
	}
	wg.Wait()
	for _, at := range created {
		if !at.Equal(created[0]) {
			t.Fatalf("created at %s and at %s", created[0], at)
		}
	}
}

// TestPut_FollowsConcurrentChange registers, changes or deletes the device during a call, as
// another process would. The call must be retried after the other change. If the store fails, the
// call must fail without a retry.
func TestPut_FollowsConcurrentChange(t *testing.T) {
	for _, c := range []struct {
		reason        string
		there, delete bool // whether the device exists before the call; whether the other process deletes it
		created       time.Time
		version       int64
	}{
		{"both register it", false, false, noon.Add(time.Minute), 2},
		{"both change it", true, false, noon, 3},
		{"the other deletes it", true, true, noon.Add(time.Minute), 1},
	} {
		t.Run(c.reason, func(t *testing.T) {
			w, ctx := newWorld(t), t.Context()
			d := devices.Device{Tenant: tenant, Device: "d", Name: "first"}
			if c.there {
				_, err := w.Put(ctx, d, w)
				must(t, err)
			}
			w.advance(time.Minute)
			met := false
			w.items.FailWrites(func(k store.Key) error {
				if met || k.SK != "#METADATA" {
					return nil
				}
				met = true
				if c.delete {
					return w.Delete(ctx, tenant, "d")
				}
				_, err := w.Put(ctx, devices.Device{Tenant: tenant, Device: "d", Name: "other", Location: "Hall 3"}, w)
				return err
			})
			d.Name = "second"
			got, err := w.Put(ctx, d, w)
			must(t, err)
			d.Status, d.CreatedAt, d.UpdatedAt = devices.Active, c.created, noon.Add(time.Minute)
			if got != d {
				t.Errorf("got  %+v\nwant %+v", got, d)
			}
			items, err := w.items.Get(ctx, []store.Key{{PK: "DEVICE#" + tenant + "/d", SK: "#METADATA"}}, true)
			if err != nil || len(items) != 1 || !items[0].Attrs["version"].Equal(varve.IntValue(c.version)) {
				t.Errorf("%+v %v, want version %d", items, err, c.version)
			}
			before := w.items.Puts("#METADATA")
			w.items.FailWrites(registrytest.FailOn("#METADATA"))
			if _, err := w.Put(ctx, d, w); !errors.Is(err, registrytest.ErrDisk) || !strings.Contains(err.Error(), "write device d") {
				t.Errorf("the store failed: %v", err)
			}
			if n := w.items.Puts("#METADATA") - before; n != 1 {
				t.Errorf("%d tries", n)
			}
		})
	}
}

// TestRegistry_NamesInvalidParameter checks that errors about a device or a list name the
// parameter.
func TestRegistry_NamesInvalidParameter(t *testing.T) {
	w, ctx := newWorld(t), t.Context()
	list, err := varve.JSONValue([]byte(`[1]`))
	must(t, err)
	for _, c := range []struct {
		d           devices.Device
		param, says string
	}{
		{devices.Device{Device: ""}, "device", "empty"},
		{devices.Device{Device: "."}, "device", "relative path"},
		{devices.Device{Device: "d", Status: "broken"}, "status", "active, inactive or maintenance"},
		{devices.Device{Device: "d", Name: strings.Repeat("x", 257)}, "name", "257"},
		{devices.Device{Device: "d", Location: "\xff"}, "location", "UTF-8"},
		{devices.Device{Device: "d", Attributes: list}, "attributes", "object"},
		{devices.Device{Device: "d", Retention: time.Second}, "retention", "1m"},
		{devices.Device{Device: "d", Retention: 400 * 24 * time.Hour}, "retention", "class long, which keeps 3y"},
		{devices.Device{Device: "d", Retention: math.MaxInt64}, "retention", "class audit"},
	} {
		c.d.Tenant = tenant
		_, err := w.Put(ctx, c.d, w)
		invalid(t, err, c.param, c.says)
	}
	_, err = w.List(ctx, devices.Query{Tenant: tenant, Status: "broken"})
	invalid(t, err, "status", "broken")
	_, err = w.List(ctx, devices.Query{Tenant: tenant, Limit: 1001})
	invalid(t, err, "limit", "1000")
	_, err = w.List(ctx, devices.Query{Tenant: tenant, Cursor: "nonsense"})
	invalid(t, err, "cursor", "not a cursor")
}

func (w *world) devices(l devices.Query) (all []devices.Device) {
	w.t.Helper()
	for {
		page, err := w.List(w.t.Context(), l)
		must(w.t, err)
		all = append(all, page.Items...)
		if l.Cursor = page.Next; l.Cursor == "" {
			return all
		}
	}
}

// TestList_SelectsStatus checks that a list has the devices of its status and tenant, in the
// order of their names, with pages of any length. The list must reflect changes. Its cursors
// must be valid only for the same list.
func TestList_SelectsStatus(t *testing.T) {
	w, ctx := newWorld(t), t.Context()
	for i := range 100 {
		status := devices.Active
		if i%4 == 0 {
			status = devices.Maintenance
		}
		_, err := w.Put(ctx, devices.Device{Tenant: tenant, Device: fmt.Sprintf("d%03d", i), Status: status}, w)
		must(t, err)
	}
	_, err := w.Put(ctx, devices.Device{Tenant: "other", Device: "d001"}, w)
	must(t, err)
	for _, limit := range []int{1, 7, 75, 76, 1000} {
		for status, want := range map[devices.Status]int{devices.Active: 75, devices.Maintenance: 25, devices.Inactive: 0, "": 100} {
			list := w.devices(devices.Query{Tenant: tenant, Status: status, Limit: limit})
			if len(list) != want {
				t.Errorf("%q in pages of %d: %d devices, want %d", status, limit, len(list), want)
			}
			for i, d := range list {
				if i > 0 && list[i-1].Device >= d.Device || status != "" && d.Status != status || d.Tenant != tenant {
					t.Errorf("%q in pages of %d: %+v after %+v", status, limit, d, list[i-1])
				}
			}
		}
	}
	_, err = w.Put(ctx, devices.Device{Tenant: tenant, Device: "d001", Status: devices.Inactive}, w)
	must(t, err)
	if n := len(w.devices(devices.Query{Tenant: tenant, Status: devices.Active})); n != 74 {
		t.Errorf("after a change: %d active", n)
	}
	page, err := w.List(ctx, devices.Query{Tenant: tenant, Status: devices.Active, Limit: 5})
	must(t, err)
	for _, other := range []devices.Query{{Tenant: "other", Status: devices.Active}, {Tenant: tenant, Status: devices.Maintenance}, {Tenant: tenant}} {
		other.Cursor = page.Next
		_, err := w.List(ctx, other)
		invalid(t, err, "cursor", "another list")
	}
}

func openDisk(t *testing.T) *local.Store {
	t.Helper()
	disk, err := local.Open(local.Options{Dir: t.TempDir(), Now: func() time.Time { return noon }, MinFree: -1})
	must(t, err)
	t.Cleanup(func() { must(t, disk.Close()) })
	return disk
}

// TestList_ScalesToManyDevices checks that a list has all of 30,000 active devices, in order. With the race
// detector, it lists 10,000. The devices are spread over 16 partitions of the index of statuses. No partition
// may exceed its share by more than a tenth.
func TestList_ScalesToManyDevices(t *testing.T) {
	if testing.Short() {
		t.Skip("writes 30,000 devices to a disk")
	}
	n := 30_000 // bin/bench -only fleet lists 100,000
	if randomtest.WithRaceDetector {
		n = 10_000
	}
	disk := openDisk(t)
	w := newWorld(t, func(o *devices.Options) { o.Items = disk })
	var g errgroup.Group
	g.SetLimit(256) // concurrent calls share the syncs of the disk
	for i := range n {
		g.Go(func() error {
			_, err := w.Put(t.Context(), devices.Device{Tenant: tenant, Device: fmt.Sprintf("sensor_%06d", i)}, w)
			return err
		})
	}
	must(t, g.Wait())
	list := w.devices(devices.Query{Tenant: tenant, Status: devices.Active, Limit: registry.MaxLimit})
	if len(list) != n {
		t.Fatalf("%d devices are listed", len(list))
	}
	for i := range list {
		if want := fmt.Sprintf("sensor_%06d", i); list[i].Device != want {
			t.Fatalf("device %d is %s, want %s", i, list[i].Device, want)
		}
	}
	most := 0
	for shard := range 16 {
		pk := fmt.Sprintf("DEVICE_STATUS#%s/active#%02d", tenant, shard)
		page, err := disk.Query(t.Context(), store.ItemQuery{Index: store.GSI1, PK: pk})
		must(t, err)
		most = max(most, len(page.Items))
	}
	if share := float64(n) / 16; float64(most) > 1.1*share {
		t.Errorf("a shard holds %d devices, its share is %.0f", most, share)
	}
}
