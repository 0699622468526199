package devices_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/varvedb/varve/devices"
	"github.com/varvedb/varve/registry/registrytest"
	"github.com/varvedb/varve/store"
)

// exists expects a result of Exists, and a number of reads of the registry.
func (w *world) exists(device string, want bool, reads int) {
	w.t.Helper()
	before := w.items.Gets
	got, err := w.Exists(w.t.Context(), tenant, device)
	if err != nil || got != want || w.items.Gets-before != reads {
		w.t.Errorf("device %s: exists %t after %d reads, %v: want %t after %d", device, got, w.items.Gets-before, err, want, reads)
	}
}

// TestExists_RemembersForMinute checks that a registered device is read once a minute, and a missing one each time.
func TestExists_RemembersForMinute(t *testing.T) {
	w := newWorld(t)
	w.exists("d", false, 1)
	w.exists("d", false, 1)
	w.send(reading("d", noon))
	w.exists("d", true, 1)
	w.advance(59 * time.Second)
	w.exists("d", true, 0)
	w.advance(time.Second)
	w.exists("d", true, 1)
	w.advance(-time.Second)
	w.exists("d", true, 1)
	must(t, w.Delete(t.Context(), tenant, "d"))
	w.exists("d", false, 1)
}

// TestRefreshExisting_RereadsUsedDevices checks that a polled device needs no further reads, and that its deletion by
// another process is found within a minute. A device that is no longer polled must not be reread.
func TestRefreshExisting_RereadsUsedDevices(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	w.send(reading("d", noon), reading("e", noon), reading("unused", noon))
	for _, device := range []string{"d", "e", "unused"} {
		w.exists(device, true, 1)
	}
	for range 60 {
		w.advance(15 * time.Second)
		must(t, w.RefreshExisting(ctx))
		w.exists("d", true, 0)
		w.exists("e", true, 0)
	}
	w.exists("unused", true, 1)
	other := devices.New(w.options)
	defer other.Close()
	must(t, other.Delete(ctx, tenant, "d"))
	w.exists("d", true, 0)
	w.advance(30 * time.Second)
	must(t, w.RefreshExisting(ctx))
	w.exists("d", false, 1)
	w.exists("e", true, 0)
	w.advance(11 * time.Minute)
	before := w.items.Gets
	if must(t, w.RefreshExisting(ctx)); w.items.Gets != before {
		t.Error("devices that no poll uses were reread")
	}
}

// silentItems are items whose reads fail while "err" is set.
type silentItems struct {
	store.Items
	err error
}

func (s *silentItems) Get(ctx context.Context, keys []store.Key, consistent bool) ([]store.Item, error) {
	if s.err != nil {
		return nil, s.err
	}
	return s.Items.Get(ctx, keys, consistent)
}

// TestExists_ReturnsStoreErrors checks that errors of the store are returned, and that they remove no device.
func TestExists_ReturnsStoreErrors(t *testing.T) {
	var items *silentItems
	w := newWorld(t, func(o *devices.Options) {
		items = &silentItems{Items: o.Items}
		o.Items = items
	})
	w.send(reading("d", noon))
	w.exists("d", true, 1)
	w.advance(45 * time.Second)
	items.err = registrytest.ErrDisk
	if err := w.RefreshExisting(t.Context()); !errors.Is(err, registrytest.ErrDisk) {
		t.Errorf("RefreshExisting: %v, want the error of the store", err)
	}
	w.exists("d", true, 0)
	if ok, err := w.Exists(t.Context(), tenant, "e"); ok || !errors.Is(err, registrytest.ErrDisk) {
		t.Errorf("Exists: %t, %v, want the error of the store", ok, err)
	}
}
