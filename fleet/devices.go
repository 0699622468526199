package fleet

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
)

// Device returns a device. It fails with NotFound.
func (f *Fleet) Device(ctx context.Context, tenant, device string) (Device, error) {
	if err := varve.ValidateDevice(device); err != nil {
		return Device{}, varve.InvalidParam("device", "%s", err)
	}
	return f.deviceSeen(ctx, tenant, device, "")
}

// deviceSeen returns a device, and when it was last seen in a stream, as far as
// that is noted; in any, if the stream has no name.
func (f *Fleet) deviceSeen(ctx context.Context, tenant, device, stream string) (Device, error) {
	items, err := f.opts.Items.Get(ctx, []store.Key{metadataKey(tenant, device), seenKey(tenant, device, stream)}, true)
	if err != nil {
		return Device{}, fmt.Errorf("read device %s: %w", device, err)
	}
	var d *Device
	var seen attrs
	for i := range items {
		if items[i].SK != metadataSK {
			seen.it = &items[i]
			continue
		}
		one, err := deviceOf(tenant, &items[i])
		if err != nil {
			return Device{}, err
		}
		d = &one
	}
	if d == nil {
		return Device{}, varve.Errorf(varve.NotFound, "device %q is not registered: it has sent no reading, and nobody has put it there", device)
	}
	if stream != "" {
		d.LastSeenAt = time.Time{} // of its first reading, whatever the stream
	}
	if seen.it != nil {
		d.LastSeenAt = seen.time(attrSeen)
	}
	return *d, seen.err
}

// PutDevice writes what is known of a device, whole, and returns it. When it
// was created and last seen is not for the caller to say. Of two at once, one
// follows the other.
func (f *Fleet) PutDevice(ctx context.Context, d Device) (Device, error) {
	if err := d.Validate(); err != nil {
		return Device{}, err
	}
	if err := f.checkRetention(ctx, &d); err != nil {
		return Device{}, err
	}
	for {
		err := f.replace(ctx, &d)
		if err == nil {
			f.keeps.forget(owner{d.Tenant, d.Device})
			return f.Device(ctx, d.Tenant, d.Device)
		}
		if !errors.Is(err, store.ErrCondition) {
			return Device{}, fmt.Errorf("write device %s: %w", d.Device, err)
		}
		// Somebody else wrote it: look again.
	}
}

func (f *Fleet) replace(ctx context.Context, d *Device) error {
	items, err := f.opts.Items.Get(ctx, []store.Key{metadataKey(d.Tenant, d.Device)}, true)
	if err != nil {
		return err
	}
	d.UpdatedAt = f.now()
	if len(items) == 0 {
		d.CreatedAt, d.LastSeenAt = d.UpdatedAt, time.Time{}
		return f.opts.Items.Put(ctx, d.item(1), store.IfAbsent())
	}
	old, err := deviceOf(d.Tenant, &items[0])
	if err != nil {
		return err
	}
	d.CreatedAt, d.LastSeenAt = old.CreatedAt, old.LastSeenAt
	return f.opts.Items.Put(ctx, d.item(intOf(items[0].Attrs["version"])+1), store.IfEquals("version", items[0].Attrs["version"]))
}

// DeleteDevice forgets a device; its readings, logs and alerts stay. If it goes
// on sending, it is registered again. It fails with NotFound.
func (f *Fleet) DeleteDevice(ctx context.Context, tenant, device string) error {
	if err := varve.ValidateDevice(device); err != nil {
		return varve.InvalidParam("device", "%s", err)
	}
	// When it was last seen goes first: as long as that is there, no reading
	// registers the device again. It goes again behind the device, because a
	// reading may have come in between.
	if err := f.forgetSeen(ctx, tenant, device); err != nil {
		return fmt.Errorf("delete device %s: %w", device, err)
	}
	err := f.opts.Items.Delete(ctx, metadataKey(tenant, device), store.IfExists())
	gone := errors.Is(err, store.ErrCondition)
	if err != nil && !gone {
		return fmt.Errorf("delete device %s: %w", device, err)
	}
	f.keeps.forget(owner{tenant, device})
	if err := f.forgetSeen(ctx, tenant, device); err != nil {
		return fmt.Errorf("delete device %s: %w", device, err)
	}
	if gone {
		return varve.Errorf(varve.NotFound, "device %q is not registered", device)
	}
	return nil
}

// forgetSeen deletes when a device was last seen, in all streams and in each.
func (f *Fleet) forgetSeen(ctx context.Context, tenant, device string) error {
	o := owner{tenant, device}
	defer f.seen.forget(sighting{owner: o})
	q := store.ItemQuery{PK: devicePK(tenant, device), From: seenSK, To: store.PrefixEnd(seenSK), Consistent: true}
	for {
		page, err := f.opts.Items.Query(ctx, q)
		if err != nil || len(page.Items) == 0 {
			return err
		}
		keys := make([]store.Key, len(page.Items))
		for i := range page.Items {
			keys[i] = page.Items[i].Key
		}
		err = f.opts.Items.DeleteAll(ctx, keys)
		for _, k := range keys {
			_, stream, _ := strings.Cut(k.SK, seenSK+"#")
			f.seen.forget(sighting{o, stream})
		}
		if err != nil || !page.More {
			return err
		}
		q.After = &page.Items[len(page.Items)-1]
	}
}

// DeviceList asks for devices in the order of their names.
type DeviceList struct {
	Tenant string
	Status Status // "": any
	Limit  int    // of a page; 0: DefaultLimit
	Cursor string
}

// Devices returns a page of devices. Every device that is there from the first
// page to the last, and keeps its status, is on one of them.
func (f *Fleet) Devices(ctx context.Context, l DeviceList) (Page[Device], error) {
	return f.devicesSeen(ctx, l, "")
}

// devicesSeen is Devices with when they were last seen in a stream, as far as
// that is noted; in any, if the stream has no name.
func (f *Fleet) devicesSeen(ctx context.Context, l DeviceList, stream string) (Page[Device], error) {
	statuses := Statuses()
	if l.Status != "" {
		if _, err := ParseStatus(string(l.Status)); err != nil {
			return Page[Device]{}, err
		}
		statuses = []Status{l.Status}
	}
	limit, err := limitOf(l.Limit)
	if err != nil {
		return Page[Device]{}, err
	}
	s := span{
		index: store.GSI1, pks: allShards(statusKind, l.Tenant, statuses...), prefix: devicePrefix, limit: limit,
	}
	question := []string{"devices", l.Tenant, string(l.Status)}
	if l.Cursor != "" {
		place, err := parseCursor(l.Cursor, question, 1)
		if err != nil {
			return Page[Device]{}, err
		}
		s.after = place[0]
	}
	items, more, err := f.merge(ctx, s)
	if err != nil {
		return Page[Device]{}, fmt.Errorf("list devices: %w", err)
	}
	page, err := f.withSeen(ctx, l.Tenant, stream, items)
	if more && err == nil {
		page.Next = encodeCursor(question, page.Items[len(page.Items)-1].Device)
	}
	return page, err
}

// withSeen turns items into devices, and adds when each was last seen.
func (f *Fleet) withSeen(ctx context.Context, tenant, stream string, items []store.Item) (page Page[Device], err error) {
	keys := make([]store.Key, len(items))
	at := make(map[string]int, len(items))
	page.Items = make([]Device, len(items))
	for i := range items {
		if page.Items[i], err = deviceOf(tenant, &items[i]); err != nil {
			return page, err
		}
		if stream != "" {
			page.Items[i].LastSeenAt = time.Time{}
		}
		keys[i], at[items[i].PK] = seenKey(tenant, page.Items[i].Device, stream), i
	}
	if len(keys) == 0 {
		return page, nil
	}
	seen, err := f.opts.Items.Get(ctx, keys, false)
	if err != nil {
		return page, fmt.Errorf("read when devices were last seen: %w", err)
	}
	for i := range seen {
		a := attrs{it: &seen[i]}
		page.Items[at[seen[i].PK]].LastSeenAt = a.time(attrSeen)
		if a.err != nil {
			return page, a.err
		}
	}
	return page, nil
}

// seenNow brings up to date when a device was last seen in a stream; in any, if
// the stream has no name.
func (f *Fleet) seenNow(ctx context.Context, d *Device, stream string) error {
	items, err := f.opts.Items.Get(ctx, []store.Key{seenKey(d.Tenant, d.Device, stream)}, true)
	if err != nil {
		return fmt.Errorf("read when it was last seen: %w", err)
	}
	for i := range items {
		a := attrs{it: &items[i]}
		if d.LastSeenAt = a.time(attrSeen); a.err != nil {
			return a.err
		}
	}
	return nil
}
