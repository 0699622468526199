package devices

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/registry"
	"github.com/varvedb/varve/retention"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/timefmt"
)

// In most deployments, no device has a retention of its own, and queries should not need an
// additional request. So if a tenant has or had such a device, an item marks the tenant. The item
// is written before the device. Only queries of marked tenants read the device.

func overridesKey(tenant string) store.Key {
	return store.Key{PK: registry.TenantPK(tenant), SK: "DEVICE_RETENTION"}
}

// Retention returns the upper limit of the retention of a device's readings. It is
// retention.Forever if the device has no override. The result may be up to ten seconds old.
func (r *Registry) Retention(ctx context.Context, tenant, device string) (time.Duration, error) {
	if has, err := r.hasOverrides(ctx, tenant); err != nil || !has {
		return retention.Forever, err
	}
	return r.overrides.Get(ctx, deviceID{tenant, device}, func(ctx context.Context) (time.Duration, error) {
		d, err := r.Get(ctx, tenant, device)
		switch {
		case err != nil && varve.FailureOf(err) != varve.NotFound:
			return 0, errors.Join(errors.New("the device's retention cannot be read"), err)
		case d.Retention == 0:
			return retention.Forever, nil
		}
		return d.Retention, nil
	})
}

// hasOverrides reports whether a tenant may have devices with a retention override.
func (r *Registry) hasOverrides(ctx context.Context, tenant string) (bool, error) {
	return r.overriding.Get(ctx, tenant, func(ctx context.Context) (bool, error) {
		items, err := r.opts.Items.Get(ctx, []store.Key{overridesKey(tenant)}, true)
		if err != nil {
			return false, fmt.Errorf("read whether devices of tenant %s have a retention of their own: %w", tenant, err)
		}
		return len(items) > 0, nil
	})
}

// forgetOverride removes the cached copies of a device's retention.
func (r *Registry) forgetOverride(id deviceID) {
	r.overrides.Forget(id)
	r.overriding.Forget(id.tenant)
}

// checkRetention rejects a retention that is too short, or that exceeds the retention of a class of
// the device's streams. It also records that devices of the tenant have a retention of their own.
func (r *Registry) checkRetention(ctx context.Context, d *Device, finder StreamFinder) error {
	if d.Retention == 0 {
		return nil
	}
	if d.Retention < retention.MinRetention {
		return varve.InvalidParam("retention", "%s is shorter than %s",
			timefmt.FormatDuration(d.Retention), timefmt.FormatDuration(retention.MinRetention))
	}
	streams, err := finder.StreamsOf(ctx, d.Tenant, d.Device)
	if err != nil {
		return fmt.Errorf("read the streams of device %s: %w", d.Device, err)
	}
	if len(streams) == 0 {
		streams = []string{""} // the device has no readings, so the default class applies
	}
	for _, stream := range streams {
		if err := r.checkClass(d.Retention, stream); err != nil {
			return err
		}
	}
	if has, err := r.hasOverrides(ctx, d.Tenant); has || err != nil {
		return err
	}
	return r.opts.Items.Put(ctx, store.Item{
		Key: overridesKey(d.Tenant), Attrs: map[string]varve.Value{"since": registry.TimeValue(r.now())},
	})
}

// checkClass rejects a retention that exceeds the retention of a stream's class.
func (r *Registry) checkClass(deviceRetention time.Duration, stream string) error {
	class := r.opts.Policy.ClassOf(stream)
	if deviceRetention <= class.Retention {
		return nil
	}
	remedy := "configure a class that keeps readings as long"
	var best time.Duration
	for _, c := range r.opts.Policy.Classes {
		if c.Retention >= deviceRetention && (best == 0 || c.Retention < best) {
			best, remedy = c.Retention, fmt.Sprintf("put its stream into class %s, which keeps %s", c.Name, timefmt.FormatDuration(c.Retention))
		}
	}
	where := "class " + class.Name
	if stream != "" {
		where += ", to which its stream " + stream + " belongs"
	}
	return varve.InvalidParam("retention", "%s is longer than the %s of %s: %s",
		timefmt.FormatDuration(deviceRetention), timefmt.FormatDuration(class.Retention), where, remedy)
}
