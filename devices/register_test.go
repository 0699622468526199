package devices_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/devices"
	"github.com/varvedb/varve/registry/registrytest"
	"github.com/varvedb/varve/store"
)

// manyDevices returns two readings of each of n devices.
func manyDevices(n int) (readings []varve.Reading) {
	for round := range 2 {
		for i := range n {
			readings = append(readings, reading(fmt.Sprintf("d%04d", i), noon.Add(time.Duration(round))))
		}
	}
	return readings
}

// TestTouch_RegistersInOneBatch checks that Touch registers all devices in one batch, each once.
// The batch has their records in selected streams, too. Later readings must cost no batch, even
// in other minutes.
func TestTouch_RegistersInOneBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.filter.Add("weather", "")
		w.send(manyDevices(500)...)
		if !slices.Equal(w.items.Batches, []int{1000}) {
			t.Errorf("batches of %v, want one of 500 devices and 500 records", w.items.Batches)
		}
		items, err := w.items.Get(t.Context(), []store.Key{{PK: "DEVICE#default/d0499", SK: "#METADATA"}, {PK: "DEVICE#default/d0499", SK: "#SEEN#weather"}}, true)
		if err != nil || len(items) != 2 {
			t.Errorf("at the answer, %d items of a device exist, %v", len(items), err)
		}
		for range 3 {
			w.send(manyDevices(500)...)
			w.advance(time.Minute)
		}
		if len(w.items.Batches) != 1 {
			t.Errorf("batches of %v: registered devices cost some", w.items.Batches)
		}
		synctest.Wait()
		if n := w.items.Puts("#METADATA"); n != 500 {
			t.Errorf("%d devices were put, want 500: the background did it again", n)
		}
	})
}

// TestTouch_KeepsExistingDevices checks that the first readings that a process receives do not change
// an existing device, which was registered by hand.
func TestTouch_KeepsExistingDevices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		_, err := w.Put(t.Context(), devices.Device{Tenant: tenant, Device: "d0001", Name: "by hand", Status: devices.Maintenance}, w)
		must(t, err)
		before := w.items.Puts("#METADATA")
		w.advance(time.Minute)
		w.send(manyDevices(3)...)
		d, err := w.Get(t.Context(), tenant, "d0001")
		if err != nil || d.Name != "by hand" || d.Status != devices.Maintenance || !d.CreatedAt.Equal(noon) {
			t.Errorf("%+v, %v", d, err)
		}
		if at := w.lastSeen("d0001"); !at.Equal(noon.Add(time.Minute)) {
			t.Errorf("seen at %s", at)
		}
		if n := w.items.Puts("#METADATA") - before; n != 3 { // two new devices, and one that exists
			t.Errorf("%d devices were put", n)
		}
	})
}

// TestTouch_RejectsNewDevicesIfStoreFails checks that readings of new devices are rejected as
// unavailable while devices cannot be registered. When they are resent, they must be duplicates,
// and their devices must be registered. Readings of registered devices must be acknowledged.
func TestTouch_RejectsNewDevicesIfStoreFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.send(reading("old", noon))
		w.items.FailWrites(registrytest.FailOn("#METADATA"))
		readings := []varve.Reading{reading("old", noon.Add(1)), reading("new", noon), reading("old", noon.Add(2)), reading("new", noon.Add(1))}
		verdicts := w.store(readings)
		must(t, w.touch(t.Context(), noon, readings, verdicts))
		for i, v := range verdicts {
			if i%2 == 0 && v.Outcome != varve.Stored {
				t.Errorf("reading %d of a registered device: %s", i, v)
			}
			if i%2 == 1 && (v.Code != varve.CodeUnavailable || !strings.Contains(v.Message, "stored, and its device could not be registered")) {
				t.Errorf("reading %d of a new device: %s", i, v)
			}
		}
		w.items.FailWrites(nil)
		verdicts = w.store(readings)
		must(t, w.touch(t.Context(), noon, readings, verdicts))
		if slices.ContainsFunc(verdicts, func(v varve.Verdict) bool { return v.Outcome != varve.Duplicate }) {
			t.Errorf("resent: %v", verdicts)
		}
		if _, err := w.Get(t.Context(), tenant, "new"); err != nil {
			t.Error(err)
		}
	})
}

// TestTouch_RegistersDeletedDevice checks that the next reading registers a deleted device before
// the reading is answered, even in the same minute.
func TestTouch_RegistersDeletedDevice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.filter.Add("weather", "")
		w.send(reading("d", noon))
		must(t, w.Delete(t.Context(), tenant, "d"))
		w.send(reading("d", noon.Add(1)))
		items, err := w.items.Get(t.Context(), []store.Key{{PK: "DEVICE#default/d", SK: "#METADATA"}, {PK: "DEVICE#default/d", SK: "#SEEN#weather"}}, true)
		if err != nil || len(items) != 2 {
			t.Errorf("%d items of the device, %v", len(items), err)
		}
	})
}
