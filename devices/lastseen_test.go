package devices_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/devices"
	"github.com/varvedb/varve/registry/registrytest"
	"github.com/varvedb/varve/store"
)

// lastSeen returns when a device was last seen, as far as that is written.
func (w *world) lastSeen(device string) time.Time {
	w.t.Helper()
	synctest.Wait() // until the writer has nothing to do
	d, err := w.Get(w.t.Context(), tenant, device)
	must(w.t, err)
	return d.LastSeenAt
}

// TestFirstReadingRegisters: a device that sends is listed as active from then
// on; what was said of a device before stays.
func TestFirstReadingRegisters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		_, err := w.Put(t.Context(), devices.Device{Tenant: tenant, Device: "known", Name: "N", Status: devices.Maintenance}, w)
		must(t, err)
		w.advance(time.Hour)
		w.send(reading("new", noon), reading("known", noon))
		synctest.Wait()
		list := w.devices(devices.Query{Tenant: tenant})
		arrived := noon.Add(time.Hour)
		if len(list) != 2 || list[0].Name != "N" || list[0].Status != devices.Maintenance || !list[0].CreatedAt.Equal(noon) || !list[0].LastSeenAt.Equal(arrived) ||
			list[1].Status != devices.Active || !list[1].CreatedAt.Equal(arrived) || !list[1].LastSeenAt.Equal(arrived) {
			t.Errorf("%+v", list)
		}
		// Forgotten, and sending all the same.
		must(t, w.Delete(t.Context(), tenant, "new"))
		w.advance(time.Minute)
		w.send(reading("new", noon.Add(1)))
		if at := w.lastSeen("new"); !at.Equal(arrived.Add(time.Minute)) {
			t.Errorf("seen at %s", at)
		}
	})
}

// TestLastSeen: it follows arrivals, not event times, to the minute; duplicates
// count, what was rejected does not; and a minute costs one write however much
// was sent in it.
func TestLastSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.send(reading("d", noon.Add(-90*24*time.Hour)))
		if at := w.lastSeen("d"); !at.Equal(noon) {
			t.Errorf("seen at %s, and it arrived at %s", at, noon)
		}
		w.advance(time.Minute) // from the second minute on, there is an item for it
		w.send(reading("d", noon))
		w.lastSeen("d")
		before := w.items.Puts("#SEEN")
		for minute := range 5 {
			w.advance(time.Minute)
			for i := range 100 {
				w.send(reading("d", noon.Add(time.Duration(i*minute))))
				synctest.Wait()
			}
			if at := w.lastSeen("d"); !at.Equal(w.now()) {
				t.Errorf("seen at %s at %s", at, w.now())
			}
		}
		if n := w.items.Puts("#SEEN") - before; n != 5 {
			t.Errorf("%d writes in 5 minutes", n)
		}
		w.advance(time.Minute)
		must(t, w.touch(t.Context(), w.now(), []varve.Reading{reading("d", noon)}, []varve.Verdict{varve.Reject(varve.CodeUnavailable, "no")}))
		if at := w.lastSeen("d"); at.Equal(w.now()) {
			t.Error("a rejected reading counts")
		}
	})
}

// TestLastSeenNeverGoesBack: a process that is behind does not overwrite what
// another has seen.
func TestLastSeenNeverGoesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.send(reading("d", noon))
		synctest.Wait()
		for _, minutes := range []int{-60, 61, -60} {
			best := w.lastSeen("d")
			w.advance(time.Duration(minutes) * time.Minute)
			w.send(reading("d", noon))
			if at := w.lastSeen("d"); minutes < 0 && !at.Equal(best) || minutes > 0 && !at.Equal(w.now()) {
				t.Errorf("seen at %s, at %s", at, w.now())
			}
		}
	})
}

// TestLastSeenFails: a registry that fails holds up no reading of a device that is
// registered, is told of, and the next minute mends it.
func TestLastSeenFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.send(reading("d", noon))
		w.advance(time.Minute)
		w.items.FailWrites(func(store.Key) error { return registrytest.ErrDisk })
		w.send(reading("d", noon.Add(1)))
		synctest.Wait()
		if len(w.failed) != 1 || !errors.Is(w.failed[0], registrytest.ErrDisk) {
			t.Errorf("told: %v", w.failed)
		}
		w.items.FailWrites(nil)
		w.advance(time.Minute)
		w.send(reading("d", noon.Add(2)))
		if at := w.lastSeen("d"); !at.Equal(noon.Add(2 * time.Minute)) {
			t.Errorf("seen at %s", at)
		}
	})
}

// TestLastSeenIsTriedAgain: what could not be written is written within the
// minute, without another reading; what was seen since is not written over.
func TestLastSeenIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.filter.Add("weather", "")
		w.send(reading("d", noon))
		synctest.Wait()
		w.items.FailWrites(registrytest.FailOn("#SEEN"))
		for range 2 {
			w.advance(time.Minute)
			w.send(reading("d", w.now()))
			synctest.Wait()
		}
		<-time.After(20 * time.Second)
		w.items.FailWrites(nil)
		<-time.After(20 * time.Second)
		if at := w.lastSeen("d"); !at.Equal(w.now()) {
			t.Errorf("seen at %s", at)
		}
		items, err := w.items.Get(t.Context(), []store.Key{{PK: "DEVICE#default/d", SK: "#SEEN#weather"}}, true)
		if err != nil || len(items) != 1 || items[0].Attrs["lastSeenAt"].Text() != "2026-11-18T12:02:00.000000000Z" {
			t.Errorf("%+v %v", items, err)
		}
		told := len(w.failed)
		<-time.After(time.Hour)
		if puts := w.items.Puts("#SEEN"); len(w.failed) != told || puts > 10 {
			t.Errorf("it goes on when all is written: %d writes", puts)
		}
	})
}

// TestSeenSince: what could not be written does not take the place of what was
// seen while that was tried.
func TestSeenSince(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.send(reading("d", noon))
		w.advance(time.Minute)
		once := false
		w.items.FailWrites(func(k store.Key) error {
			if once || k.SK != "#SEEN" {
				return nil
			}
			once = true
			w.advance(time.Minute)
			w.send(reading("d", w.now()))
			return registrytest.ErrDisk
		})
		w.send(reading("d", w.now()))
		if at := w.lastSeen("d"); !at.Equal(noon.Add(2 * time.Minute)) {
			t.Errorf("seen at %s", at)
		}
	})
}

// TestCloseWritesLastSeen: what was noted is written when the fleet is closed.
func TestCloseWritesLastSeen(t *testing.T) {
	w := newWorld(t)
	var all []varve.Reading
	for i := range 500 {
		all = append(all, reading(fmt.Sprint("d", i), noon))
	}
	w.send(all...)
	w.Close()
	for _, d := range w.devices(devices.Query{Tenant: tenant}) {
		if !d.LastSeenAt.Equal(noon) {
			t.Errorf("%s was seen at %s", d.Device, d.LastSeenAt)
		}
	}
	if n := len(w.devices(devices.Query{Tenant: tenant})); n != 500 {
		t.Errorf("%d devices are registered", n)
	}
}

// TestSeenMemory: the names of devices are kept, not the memory they came in.
func TestSeenMemory(t *testing.T) {
	w := newWorld(t)
	buf := []byte("sensor")
	r := reading(string(buf), noon)
	verdicts := w.store([]varve.Reading{r})
	borrowed := varve.Reading{Series: varve.Series{Tenant: tenant, Stream: "weather", Device: alias(buf)}}
	must(t, w.touch(t.Context(), noon, []varve.Reading{borrowed}, verdicts))
	copy(buf, "XXXXXX")
	w.Close()
	if _, err := w.Get(t.Context(), tenant, "sensor"); err != nil {
		t.Error(err)
	}
}

func BenchmarkSeen(b *testing.B) {
	w := newWorld(b)
	readings := make([]varve.Reading, 5000)
	for i := range readings {
		readings[i] = reading(fmt.Sprintf("sensor_%06d", i%100), noon)
	}
	verdicts := make([]varve.Verdict, len(readings))
	for i := range verdicts {
		verdicts[i].Outcome = varve.Stored
	}
	for b.Loop() {
		must(b, w.touch(b.Context(), noon, readings, verdicts))
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(readings)), "ns/reading")
}
