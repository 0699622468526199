package devices

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/registry"
	"github.com/varvedb/varve/store"
)

// Put replaces the record of a device, and returns it. The times of creation and of the
// last reading stay. Concurrent calls take effect one after the other.
//
// Put fails with Invalid if d is invalid, or if its retention exceeds the retention of a class of
// the device's streams.
func (r *Registry) Put(ctx context.Context, d Device, streams StreamFinder) (Device, error) {
	if err := d.Validate(); err != nil {
		return Device{}, err
	}
	if err := r.checkRetention(ctx, &d, streams); err != nil {
		return Device{}, err
	}
	update := registry.Updater{Items: r.opts.Items}
	_, err := update.Update(ctx, metadataKey(d.Tenant, d.Device), "device "+d.Device, func(old *store.Item) (*store.Item, error) {
		return r.replacement(d, old)
	})
	if err != nil {
		return Device{}, err
	}
	r.forgetOverride(deviceID{d.Tenant, d.Device})
	return r.Get(ctx, d.Tenant, d.Device)
}

// replacement returns the new item of a device. If the argument "old" is not nil, the times of
// creation and of the last reading are copied from it.
func (r *Registry) replacement(d Device, old *store.Item) (*store.Item, error) {
	d.UpdatedAt = r.now()
	d.CreatedAt, d.LastSeenAt = d.UpdatedAt, time.Time{}
	if old != nil {
		was, err := deviceOf(d.Tenant, old)
		if err != nil {
			return nil, err
		}
		d.CreatedAt, d.LastSeenAt = was.CreatedAt, was.LastSeenAt
	}
	it := d.item()
	return &it, nil
}

// Delete removes a device. Its readings, logs and alerts stay, and its next reading registers it
// again. If the device does not exist, Delete fails with NotFound.
func (r *Registry) Delete(ctx context.Context, tenant, device string) error {
	if err := varve.ValidateDevice(device); err != nil {
		return varve.InvalidParam("device", "%s", err)
	}
	defer r.existing.forget(deviceID{tenant, device}) // even after an error, because the store may have deleted it
	// Delete the last-seen records first: as long as one exists, a process that knows the device does not
	// register it again. Below, delete them once more, because a reading that arrived in between may have
	// written one.
	if err := r.deleteLastSeen(ctx, tenant, device); err != nil {
		return fmt.Errorf("delete device %s: %w", device, err)
	}
	err := r.opts.Items.Delete(ctx, metadataKey(tenant, device), store.IfExists())
	missing := errors.Is(err, store.ErrCondition)
	if err != nil && !missing {
		return fmt.Errorf("delete device %s: %w", device, err)
	}
	r.forgetOverride(deviceID{tenant, device})
	if err := r.deleteLastSeen(ctx, tenant, device); err != nil {
		return fmt.Errorf("delete device %s: %w", device, err)
	}
	if missing {
		return varve.Errorf(varve.NotFound, "device %s: not found: GET /v1/devices lists all devices", device)
	}
	return nil
}

func (r *Registry) deleteLastSeen(ctx context.Context, tenant, device string) error {
	id := deviceID{tenant, device}
	defer r.lastSeen.forget(recordID{deviceID: id})
	q := store.ItemQuery{PK: registry.DevicePK(tenant, device), From: lastSeenSK, To: store.PrefixEnd(lastSeenSK), Consistent: true}
	var keys []store.Key
	for it, err := range registry.All(ctx, r.opts.Items, q) {
		if err != nil {
			return err
		}
		keys = append(keys, it.Key)
	}
	if len(keys) == 0 {
		return nil
	}
	err := r.opts.Items.DeleteAll(ctx, keys)
	for _, k := range keys {
		_, stream, _ := strings.Cut(k.SK, lastSeenSK+"#")
		r.lastSeen.forget(recordID{id, stream})
	}
	return err
}
