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

func (w *world) lastSeen(device string) time.Time {
	w.t.Helper()
	synctest.Wait() // wait until the writer is idle
	d, err := w.Get(w.t.Context(), tenant, device)
	must(w.t, err)
	return d.LastSeenAt
}

// TestTouch_RegistersAtFirstReading checks that the first reading of a device registers it as
// active. An existing device must not be replaced.
func TestTouch_RegistersAtFirstReading(t *testing.T) {
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
		// The device is deleted, and continues to send.
		must(t, w.Delete(t.Context(), tenant, "new"))
		w.advance(time.Minute)
		w.send(reading("new", noon.Add(1)))
		if at := w.lastSeen("new"); !at.Equal(arrived.Add(time.Minute)) {
			t.Errorf("seen at %s", at)
		}
	})
}

// TestTouch_RecordsReadingAfterLateRequest finishes a request of the minute before the current one.
// The next reading of the same device in the current minute must still be recorded.
func TestTouch_RecordsReadingAfterLateRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.send(reading("d", noon), reading("e", noon))
		w.advance(2*time.Minute + time.Second)
		w.send(reading("e", noon.Add(1)))
		late := []varve.Reading{reading("d", noon.Add(1))}
		must(t, w.touch(t.Context(), w.now().Add(-10*time.Second), late, w.store(late)))
		if at, want := w.lastSeen("d"), w.now().Add(-10*time.Second); !at.Equal(want) {
			t.Errorf("seen at %s, want %s", at, want)
		}
		w.advance(50 * time.Second)
		w.send(reading("d", noon.Add(2)))
		if at, want := w.lastSeen("d"), w.now(); !at.Equal(want) {
			t.Errorf("seen at %s, want %s", at, want)
		}
	})
}

// TestTouch_RecordsArrivalPerMinute checks that the last-seen time depends on arrivals, not on
// event times. Duplicates must count, and rejected readings must not. All readings of a device in one
// minute must cost one write.
func TestTouch_RecordsArrivalPerMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.send(reading("d", noon.Add(-90*24*time.Hour)))
		if at := w.lastSeen("d"); !at.Equal(noon) {
			t.Errorf("last seen at %s, arrived at %s", at, noon)
		}
		w.advance(time.Minute) // from the second minute on, the record exists
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

// TestTouch_NeverDecreasesLastSeen checks that a process with a slow clock does not overwrite the
// later time of another process.
func TestTouch_NeverDecreasesLastSeen(t *testing.T) {
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

// TestTouch_AcceptsKnownDevicesDespiteFailure checks that a failing store is reported, and does
// not delay readings of registered devices. The time must be written in the next minute.
func TestTouch_AcceptsKnownDevicesDespiteFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.send(reading("d", noon))
		synctest.Wait() // wait until the first last-seen time is written
		w.advance(time.Minute)
		w.items.FailWrites(func(store.Key) error { return registrytest.ErrDisk })
		w.send(reading("d", noon.Add(1)))
		synctest.Wait()
		if len(w.failed) != 1 || !errors.Is(w.failed[0], registrytest.ErrDisk) {
			t.Errorf("reported: %v", w.failed)
		}
		w.items.FailWrites(nil)
		w.advance(time.Minute)
		w.send(reading("d", noon.Add(2)))
		if at := w.lastSeen("d"); !at.Equal(noon.Add(2 * time.Minute)) {
			t.Errorf("seen at %s", at)
		}
	})
}

// TestTouch_RetriesWrites checks that a failed write is retried within the minute, without another
// reading. The retry must not overwrite a later time.
func TestTouch_RetriesWrites(t *testing.T) {
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
		reported := len(w.failed)
		<-time.After(time.Hour)
		if puts := w.items.Puts("#SEEN"); len(w.failed) != reported || puts > 10 {
			t.Errorf("%d writes, also after all was written", puts)
		}
	})
}

// TestTouch_KeepsLaterTimeOnRetry checks that a time that could not be written does not replace a
// later time of the same device.
func TestTouch_KeepsLaterTimeOnRetry(t *testing.T) {
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

func TestClose_WritesPendingTimes(t *testing.T) {
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

// TestTouch_CopiesNames checks that the registry copies names, because the buffers of readings
// are reused.
func TestTouch_CopiesNames(t *testing.T) {
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

func BenchmarkTouch(b *testing.B) {
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
