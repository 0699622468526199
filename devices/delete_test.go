package devices_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/devices"
	"github.com/varvedb/varve/registry/registrytest"
	"github.com/varvedb/varve/store"
)

// gated is a store whose calls wait at a gate, or fail.
type gated struct {
	store.Items
	gate  chan struct{} // if nil, calls do not wait
	calls atomic.Int32
	dies  int32 // number of the first call that fails, from 1; later calls also fail; 0 means none
}

func (g *gated) pass() error {
	if g.gate != nil {
		<-g.gate
	}
	if n := g.calls.Add(1); g.dies > 0 && n >= g.dies {
		return registrytest.ErrDisk
	}
	return nil
}

func (g *gated) Get(ctx context.Context, keys []store.Key, consistent bool) ([]store.Item, error) {
	if err := g.pass(); err != nil {
		return nil, err
	}
	return g.Items.Get(ctx, keys, consistent)
}

func (g *gated) Put(ctx context.Context, it store.Item, conds ...store.Cond) error {
	if err := g.pass(); err != nil {
		return err
	}
	return g.Items.Put(ctx, it, conds...)
}

func (g *gated) Delete(ctx context.Context, k store.Key, conds ...store.Cond) error {
	if err := g.pass(); err != nil {
		return err
	}
	return g.Items.Delete(ctx, k, conds...)
}

func (g *gated) DeleteAll(ctx context.Context, keys []store.Key) error {
	if err := g.pass(); err != nil {
		return err
	}
	return g.Items.DeleteAll(ctx, keys)
}

func (g *gated) Query(ctx context.Context, q store.ItemQuery) (store.ItemPage, error) {
	if err := g.pass(); err != nil {
		return store.ItemPage{}, err
	}
	return g.Items.Query(ctx, q)
}

// another returns the registry of another process, whose calls pass a gate.
func (w *world) another(g *gated) *devices.Registry {
	g.Items = w.items
	o := w.options
	o.Items = g
	return devices.New(o)
}

// lives lets a device send for three more minutes, and expects it to be registered
// with its last-seen time.
func (w *world) lives(what string) {
	w.t.Helper()
	for range 3 {
		w.advance(time.Minute)
		w.send(reading("d", w.now()))
		synctest.Wait()
	}
	if d, err := w.Get(w.t.Context(), tenant, "d"); err != nil || !d.LastSeenAt.Equal(w.now()) {
		w.t.Errorf("%s: seen at %s, at %s: %v", what, d.LastSeenAt, w.now(), err)
	}
	if n := len(w.devices(devices.Query{Tenant: tenant})); n != 1 {
		w.t.Errorf("%s: %d devices are listed", what, n)
	}
}

// TestDelete_RemovesLastSeenRecords checks that all last-seen records of a device are deleted with
// it, and the records of other devices stay.
func TestDelete_RemovesLastSeenRecords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.filter.Add("weather", "")
		for range 3 {
			w.send(reading("d", w.now()), reading("d2", w.now()))
			synctest.Wait()
			w.advance(time.Minute)
		}
		must(t, w.Delete(t.Context(), tenant, "d"))
		for device, want := range map[string]string{"d": "", "d2": "#METADATA #SEEN #SEEN#weather"} {
			page, err := w.items.Query(t.Context(), store.ItemQuery{PK: "DEVICE#" + tenant + "/" + device})
			must(t, err)
			var keys []string
			for i := range page.Items {
				keys = append(keys, page.Items[i].SK)
			}
			if got := strings.Join(keys, " "); got != want {
				t.Errorf("device %s has items %q, want %q", device, got, want)
			}
		}
	})
}

// TestDelete_SurvivesCrash interrupts a deletion after each step. The next readings must register
// the device, and a second deletion must be complete.
func TestDelete_SurvivesCrash(t *testing.T) {
	for seen := range 3 { // number of minutes in which the device was seen
		for call := int32(1); ; call++ {
			done := false
			synctest.Test(t, func(t *testing.T) {
				for _, again := range []bool{false, true} {
					w := newWorld(t)
					w.filter.Add("weather", "")
					if seen == 0 {
						_, err := w.Put(t.Context(), devices.Device{Tenant: tenant, Device: "d"}, w)
						must(t, err)
					}
					for range seen {
						w.send(reading("d", w.now()))
						synctest.Wait()
						w.advance(time.Minute)
					}
					g := &gated{dies: call}
					other := w.another(g)
					defer other.Close()
					err := other.Delete(t.Context(), tenant, "d")
					if done = err == nil; again {
						if err := w.Delete(t.Context(), tenant, "d"); err != nil && varve.FailureOf(err) != varve.NotFound {
							t.Error(err)
						}
						if n := len(w.devices(devices.Query{Tenant: tenant})); n != 0 {
							t.Errorf("call %d: deleted, and listed", call)
						}
					}
					w.lives(fmt.Sprintf("seen in %d minutes, dead at call %d", seen, call))
				}
			})
			if done {
				break
			}
		}
	}
}

// TestDelete_RacesWithReadings deletes a device while it sends a reading. The calls of the deletion
// and of the reading reach the store in many orders. Later readings must register the device.
func TestDelete_RacesWithReadings(t *testing.T) {
	const most = 6
	for seen := 1; seen <= 2; seen++ {
		for order := range most * most * most {
			turns := []int{order % most, order / most % most, order / most / most, 100}
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				for range seen {
					w.send(reading("d", w.now()))
					synctest.Wait()
					w.advance(time.Minute)
				}
				w.Close() // another process receives the next reading
				gates := []*gated{{gate: make(chan struct{})}, {gate: make(chan struct{})}}
				deletes, sees := w.another(gates[0]), w.another(gates[1])
				go func() { _ = deletes.Delete(t.Context(), tenant, "d") }()
				go func() {
					if err := sees.Touch(t.Context(), w.now(), tenant, nil, []varve.Reading{reading("d", w.now())}, make([]varve.Verdict, 1)); err != nil {
						t.Error(err)
					}
				}()
				for i, n := range turns {
					for range n {
						synctest.Wait()
						select {
						case gates[i%2].gate <- struct{}{}:
						default: // no call is waiting
						}
					}
				}
				for _, g := range gates {
					close(g.gate)
				}
				synctest.Wait()
				deletes.Close()
				sees.Close()
				w.Registry = devices.New(w.options)
				defer w.Close()
				w.lives(fmt.Sprint("seen in ", seen, " minutes, calls of both in turns of ", turns))
			})
		}
	}
}

// TestTouch_RegistersDeviceOfOrphanedRecord writes a last-seen record without a device, as a
// deletion and a crash may leave it. The next process that writes the record must register the device.
func TestTouch_RegistersDeviceOfOrphanedRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		must(t, w.items.Put(t.Context(), store.Item{
			Key:   store.Key{PK: "DEVICE#" + tenant + "/d", SK: "#SEEN"},
			Attrs: map[string]varve.Value{"lastSeenAt": varve.StringValue("2026-11-18T12:00:00.000000000Z")},
		}))
		w.send(reading("d", noon))
		synctest.Wait()
		w.lives("seen, and not registered")
	})
}
