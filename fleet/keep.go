package fleet

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/retention"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/timefmt"
)

// Most deployments have no device with a retention of its own, and no query of
// theirs should cost a request more. So a tenant that ever had one is marked
// in the registry, before the device is written; only its devices are asked for.

func marksKey(tenant string) store.Key {
	return store.Key{PK: "TENANT#" + tenant, SK: "DEVICE_RETENTION"}
}

// checkRetention refuses a retention that the classes of the device's streams
// do not reach, and marks the tenant.
func (f *Fleet) checkRetention(ctx context.Context, d *Device) error {
	if d.Retention == 0 {
		return nil
	}
	if d.Retention < retention.MinRetention {
		return varve.InvalidParam("retention", "%s is shorter than %s",
			timefmt.FormatDuration(d.Retention), timefmt.FormatDuration(retention.MinRetention))
	}
	streams, err := f.opts.Source.StreamsOf(ctx, d.Tenant, d.Device)
	if err != nil {
		return fmt.Errorf("read the streams of device %s: %w", d.Device, err)
	}
	if len(streams) == 0 {
		streams = []string{""} // of no name: in the default class
	}
	for _, stream := range streams {
		if err := f.fits(d.Retention, stream); err != nil {
			return err
		}
	}
	if marked, err := f.marked(ctx, d.Tenant); marked || err != nil {
		return err
	}
	return f.opts.Items.Put(ctx, store.Item{Key: marksKey(d.Tenant), Attrs: map[string]varve.Value{"since": timeValue(f.now())}})
}

// fits checks that a stream's class keeps readings as long.
func (f *Fleet) fits(keep time.Duration, stream string) error {
	class := f.opts.Policy.ClassOf(stream)
	if keep <= class.Retention {
		return nil
	}
	use := "configure a class that keeps readings as long"
	var best time.Duration
	for _, c := range f.opts.Policy.Classes {
		if c.Retention >= keep && (best == 0 || c.Retention < best) {
			best, use = c.Retention, fmt.Sprintf("put its stream into class %s, which keeps %s", c.Name, timefmt.FormatDuration(c.Retention))
		}
	}
	where := "class " + class.Name
	if stream != "" {
		where += ", to which its stream " + stream + " belongs"
	}
	return varve.InvalidParam("retention", "%s is longer than the %s of %s: %s",
		timefmt.FormatDuration(keep), timefmt.FormatDuration(class.Retention), where, use)
}

// keeps are copies of what devices keep.
type keeps struct {
	mu      sync.RWMutex
	changes int64 // how often any were forgotten: what was read before is not kept
	tenants map[string]kept[bool]
	devices map[owner]kept[time.Duration]
}

type kept[T any] struct {
	is   T
	read time.Time
}

func (k kept[T]) good(now time.Time) bool {
	age := now.Sub(k.read)
	return age >= 0 && age < cacheFor
}

// maxKept is of how many devices copies are kept.
const maxKept = 10_000

func newKeeps() keeps {
	return keeps{tenants: map[string]kept[bool]{}, devices: map[owner]kept[time.Duration]{}}
}

func (k *keeps) forget(o owner) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.changes++
	delete(k.devices, o)
	delete(k.tenants, o.tenant)
}

// Keep returns how long readings of a device live at the most, as it was at
// most ten seconds ago; retention.Forever if nothing is set of the device.
func (f *Fleet) Keep(ctx context.Context, tenant, device string) (time.Duration, error) {
	marked, err := f.marked(ctx, tenant)
	if err != nil || !marked {
		return retention.Forever, err
	}
	o, now := owner{tenant, device}, f.opts.Now()
	f.keeps.mu.RLock()
	k, ok := f.keeps.devices[o]
	changes := f.keeps.changes
	f.keeps.mu.RUnlock()
	if ok && k.good(now) {
		return k.is, nil
	}
	d, err := f.Device(ctx, tenant, device)
	if err != nil && varve.FailureOf(err) != varve.NotFound {
		return 0, errors.Join(errors.New("the device's retention cannot be read"), err)
	}
	keep := retention.Forever
	if d.Retention != 0 {
		keep = d.Retention
	}
	f.keeps.mu.Lock()
	defer f.keeps.mu.Unlock()
	if f.keeps.changes != changes {
		return keep, nil
	}
	if len(f.keeps.devices) >= maxKept {
		clear(f.keeps.devices)
	}
	f.keeps.devices[o] = kept[time.Duration]{keep, now}
	return keep, nil
}

// marked reports whether a tenant may have devices with a retention of their
// own.
func (f *Fleet) marked(ctx context.Context, tenant string) (bool, error) {
	now := f.opts.Now()
	f.keeps.mu.RLock()
	k, ok := f.keeps.tenants[tenant]
	changes := f.keeps.changes
	f.keeps.mu.RUnlock()
	if ok && (k.is || k.good(now)) {
		return k.is, nil
	}
	items, err := f.opts.Items.Get(ctx, []store.Key{marksKey(tenant)}, true)
	if err != nil {
		return false, fmt.Errorf("read whether devices of tenant %s have a retention of their own: %w", tenant, err)
	}
	f.keeps.mu.Lock()
	defer f.keeps.mu.Unlock()
	if f.keeps.changes == changes {
		f.keeps.tenants[tenant] = kept[bool]{len(items) > 0, now}
	}
	return len(items) > 0, nil
}
