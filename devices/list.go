package devices

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/registry"
	"github.com/varvedb/varve/store"
)

// Get returns a device. If the device does not exist, Get fails with NotFound.
func (r *Registry) Get(ctx context.Context, tenant, device string) (Device, error) {
	return r.GetIn(ctx, tenant, device, "")
}

// GetIn returns a device with its last-seen time in a stream. If the argument "stream" is empty,
// the time is the last one in any stream. If the device does not exist, GetIn fails with NotFound.
func (r *Registry) GetIn(ctx context.Context, tenant, device, stream string) (Device, error) {
	if err := varve.ValidateDevice(device); err != nil {
		return Device{}, varve.InvalidParam("device", "%s", err)
	}
	items, err := r.opts.Items.Get(ctx, []store.Key{metadataKey(tenant, device), lastSeenKey(tenant, device, stream)}, true)
	if err != nil {
		return Device{}, fmt.Errorf("read device %s: %w", device, err)
	}
	var metadata, seen *store.Item
	for i := range items {
		if items[i].SK == metadataSK {
			metadata = &items[i]
		} else {
			seen = &items[i]
		}
	}
	if metadata == nil {
		return Device{}, varve.Errorf(varve.NotFound, "device %s: not found: GET /v1/devices lists all devices", device)
	}
	d, err := deviceOf(tenant, metadata)
	if err != nil {
		return Device{}, err
	}
	if stream != "" {
		d.LastSeenAt = time.Time{} // the time in the device's item may be from another stream
	}
	if seen != nil {
		d.LastSeenAt, err = lastSeenOf(seen)
	}
	return d, err
}

// Refresh updates d.LastSeenAt from the registry. The time is of one stream, or of any stream if
// the argument "stream" is empty. If the registry has no such time, d.LastSeenAt stays.
func (r *Registry) Refresh(ctx context.Context, d *Device, stream string) error {
	items, err := r.opts.Items.Get(ctx, []store.Key{lastSeenKey(d.Tenant, d.Device, stream)}, true)
	if err != nil {
		return fmt.Errorf("read when it was last seen: %w", err)
	}
	for i := range items {
		if d.LastSeenAt, err = lastSeenOf(&items[i]); err != nil {
			return err
		}
	}
	return nil
}

// Query selects devices, in the order of their names.
type Query struct {
	Tenant string
	Status Status // if empty, any status
	Type   string // if empty, any type
	// Attributes has conditions on the registered attributes. A device must match all of them.
	Attributes []Attribute
	// SilentSince, if set, selects devices that were not seen at this time or later. A page may
	// then be short or empty although more pages follow.
	SilentSince time.Time
	// Stream selects the stream whose last-seen times are returned. If empty, LastSeenAt is the
	// time in any stream.
	Stream string
	Limit  int // maximum number of devices in a page; 0 means registry.DefaultLimit
	Cursor string
}

// List returns a page of devices. If a device matches the query, and its status does not change from
// the first page to the last, it is on one of the pages.
func (r *Registry) List(ctx context.Context, q Query) (registry.Page[Device], error) {
	var none registry.Page[Device]
	statuses := Statuses()
	if q.Status != "" {
		if _, err := ParseStatus(string(q.Status)); err != nil {
			return none, err
		}
		statuses = []Status{q.Status}
	}
	limit, err := registry.PageLimit(q.Limit)
	if err != nil {
		return none, err
	}
	s := registry.Span{
		Index: store.GSI1, PKs: registry.AllShards(statusKind, q.Tenant, statuses...), Prefix: devicePrefix, Limit: limit,
	}
	question := []string{"devices", q.Tenant, string(q.Status), q.Type}
	if q.Type != "" || len(q.Attributes) > 0 {
		s.Match = func(it *store.Item) bool {
			return (q.Type == "" || it.Attrs["type"].Text() == q.Type) && matchAttributes(it.Attrs["attributes"], q.Attributes)
		}
	}
	for _, a := range q.Attributes {
		question = append(question, a.Name, a.Value)
	}
	if q.Cursor != "" {
		place, err := registry.ParseCursor(q.Cursor, question, 1)
		if err != nil {
			return none, err
		}
		s.After = place[0]
	}
	items, more, err := registry.Merge(ctx, r.opts.Items, s)
	if err != nil {
		return none, fmt.Errorf("list devices: %w", err)
	}
	page, err := r.withLastSeen(ctx, q.Tenant, q.Stream, items)
	if more && err == nil {
		page.Next = registry.EncodeCursor(question, page.Items[len(page.Items)-1].Device)
	}
	if !q.SilentSince.IsZero() {
		page.Items = slices.DeleteFunc(page.Items, func(d Device) bool { return !d.LastSeenAt.Before(q.SilentSince) })
	}
	return page, err
}

// Unregistered returns the given devices that are not registered, in their order.
func (r *Registry) Unregistered(ctx context.Context, tenant string, names []string) (missing []string, err error) {
	keys := make([]store.Key, len(names))
	for i, name := range names {
		keys[i] = metadataKey(tenant, name)
	}
	items, err := r.opts.Items.Get(ctx, keys, true)
	if err != nil {
		return nil, fmt.Errorf("read devices: %w", err)
	}
	found := make(map[string]bool, len(items))
	for i := range items {
		found[items[i].PK] = true
	}
	for i, key := range keys {
		if !found[key.PK] {
			missing = append(missing, names[i])
		}
	}
	return missing, nil
}

// Exists reports whether a device is registered. It remembers a registered device for up to a minute, and
// never remembers that a device is missing.
//
// After another process has deleted a device, Exists may return true for up to a minute. A deletion by this
// process takes effect immediately.
func (r *Registry) Exists(ctx context.Context, tenant, device string) (bool, error) {
	id, now := deviceID{tenant, device}, r.opts.Now()
	ok, forgets := r.existing.use(id, now)
	if ok {
		return true, nil
	}
	missing, err := r.Unregistered(ctx, tenant, []string{device})
	if err != nil || len(missing) > 0 {
		return false, err
	}
	r.existing.add(id, now, forgets)
	return true, nil
}

// RefreshExisting rereads the remembered devices that were used recently, so that Exists need not read them. The
// caller calls it at intervals of a few seconds.
func (r *Registry) RefreshExisting(ctx context.Context) error {
	now := r.opts.Now()
	old, forgets := r.existing.old(now)
	for tenant, names := range old {
		missing, err := r.Unregistered(ctx, tenant, names)
		if err != nil {
			return err
		}
		r.existing.refresh(tenant, names, missing, now, forgets)
	}
	return nil
}

func (r *Registry) withLastSeen(ctx context.Context, tenant, stream string, items []store.Item) (page registry.Page[Device], err error) {
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
		keys[i], at[items[i].PK] = lastSeenKey(tenant, page.Items[i].Device, stream), i
	}
	if len(keys) == 0 {
		return page, nil
	}
	seen, err := r.opts.Items.Get(ctx, keys, false)
	if err != nil {
		return page, fmt.Errorf("read when devices were last seen: %w", err)
	}
	for i := range seen {
		if page.Items[at[seen[i].PK]].LastSeenAt, err = lastSeenOf(&seen[i]); err != nil {
			return page, err
		}
	}
	return page, nil
}
