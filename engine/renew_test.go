package engine_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/devices"
	"github.com/varvedb/varve/engine"
	"github.com/varvedb/varve/store/mem"
)

// TestOpen_RereadsPolledDevices deletes a device in another process. The engine must find that after half a minute,
// although it remembers the device for a minute.
func TestOpen_RereadsPolledDevices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := mem.New(nil)
		e := open(t, engine.Options{Store: s, Shared: true, IndexesAny: true, Indexed: func(string) bool { return true }, NoRollups: true})
		other := devices.New(devices.Options{Items: s, Now: time.Now})
		defer other.Close()
		if v := writeOne(t, e, time.Now()); v.Outcome != varve.Stored {
			t.Fatal(v)
		}
		const device = "a" // writeOne writes a reading of it
		expect := func(want bool) {
			t.Helper()
			if ok, err := e.Devices.Exists(t.Context(), varve.DefaultTenant, device); err != nil || ok != want {
				t.Errorf("the device exists: %t, %v, want %t", ok, err, want)
			}
		}
		expect(true)
		if err := other.Delete(t.Context(), varve.DefaultTenant, device); err != nil {
			t.Fatal(err)
		}
		expect(true)
		wait(45 * time.Second)
		expect(false)
	})
}
