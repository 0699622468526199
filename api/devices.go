package api

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/devicename"
	"github.com/varvedb/varve/devices"
	"github.com/varvedb/varve/query"
	"github.com/varvedb/varve/timefmt"
)

type devicesHandler struct {
	*responder
	registry *devices.Registry
	query    *query.Engine
	now      func() time.Time
}

func (h *devicesHandler) addRoutes(o *operations) {
	const tag, one = "devices", "/v1/devices/{device}"
	huma.Register(o.api, deviceOp(tag, "list-devices", http.MethodGet, "/v1/devices", "The devices, in the order of their names",
		"A device is registered by hand, or as active by its first reading. With silent_since, a page may be short or empty and not the last."), h.listDevices)
	huma.Register(o.api, deviceOp(tag, "get-device", http.MethodGet, one, "A device", ""), h.getDevice)
	huma.Register(o.api, deviceOp(tag, "put-device", http.MethodPut, one, "Register a device, or change it",
		"Replaces its description; created_at and last_seen_at stay."), h.putDevice)
	huma.Register(o.api, deviceOp(tag, "delete-device", http.MethodDelete, one, "Forget a device",
		"Its readings, logs and alerts stay. Its next reading registers it once more."), h.deleteDevice)
}

type devicesQuery struct {
	Status string `query:"status" enum:"active,inactive,maintenance" doc:"only devices of this status; default: all"`
	Type   string `query:"device_type" doc:"only devices of this type; default: all"`
	AttributeFilter
	Silent string `query:"silent_since" doc:"only devices that no reading came from since this time, in any stream, by arrival and to the minute: RFC 3339, a date or month, milliseconds, now, today, yesterday, or relative as in -24h or -1mo"`
	Paging
}

// AttributeFilter is the parameter that selects devices by their attributes.
type AttributeFilter struct {
	Attributes []string `query:"attribute,explode" nullable:"false" doc:"only devices with this registered attribute, as in site:north; can be repeated, and then all must hold"`
}

type devicePath struct {
	Device string `path:"device" doc:"the device"`
}

type devicePut struct {
	Device string `path:"device" doc:"the device"`
	Body   wire.DevicePut
}

func (h *devicesHandler) listDevices(ctx context.Context, in *devicesQuery) (*reply[wire.DeviceList], error) {
	since, err := momentIn("silent_since", in.Silent, h.now(), time.Time{})
	if err != nil {
		return nil, h.problem(err)
	}
	attributes, err := devices.ParseAttributes(in.Attributes)
	if err != nil {
		return nil, h.problem(prefixParam(err, "query"))
	}
	page, err := h.registry.List(ctx, devices.Query{
		Tenant: tenantOf(ctx), Status: devices.Status(in.Status), Type: in.Type, Attributes: attributes, SilentSince: since, Limit: in.Limit, Cursor: in.Cursor,
	})
	if err != nil {
		return nil, h.problem(prefixParam(err, "query"))
	}
	body := wire.DeviceList{Devices: make([]wire.DeviceBody, len(page.Items)), Next: page.Next}
	for i := range page.Items {
		body.Devices[i] = deviceBody(&page.Items[i])
	}
	return &reply[wire.DeviceList]{body}, nil
}

func (h *devicesHandler) getDevice(ctx context.Context, in *devicePath) (*reply[wire.DeviceBody], error) {
	d, err := h.registry.Get(ctx, tenantOf(ctx), in.Device)
	if err != nil {
		return nil, h.problem(prefixParam(err, "query", "device"))
	}
	return &reply[wire.DeviceBody]{deviceBody(&d)}, nil
}

func (h *devicesHandler) putDevice(ctx context.Context, in *devicePut) (*reply[wire.DeviceBody], error) {
	d, err := deviceFrom(in)
	if err == nil {
		d.Tenant = tenantOf(ctx)
		d, err = h.registry.Put(ctx, d, h.query)
	}
	if err != nil {
		return nil, h.problem(prefixParam(err, "body", "device"))
	}
	return &reply[wire.DeviceBody]{deviceBody(&d)}, nil
}

func (h *devicesHandler) deleteDevice(ctx context.Context, in *devicePath) (*reply[wire.Deleted], error) {
	if err := h.registry.Delete(ctx, tenantOf(ctx), in.Device); err != nil {
		return nil, h.problem(prefixParam(err, "query", "device"))
	}
	return &reply[wire.Deleted]{wire.Deleted{Deleted: in.Device}}, nil
}

func deviceFrom(in *devicePut) (d devices.Device, err error) {
	b := &in.Body
	d = devices.Device{Device: in.Device, Name: b.Name, Type: b.Type, Status: devices.Status(b.Status), Location: b.Location, Firmware: b.Firmware}
	if d.Attributes, err = jsonValue("attributes", b.Attributes); err != nil || b.Retention == "" {
		return d, err
	}
	if d.Retention, err = timefmt.ParseDuration(b.Retention); err != nil {
		return d, varve.InvalidParam("retention", "%s", err)
	}
	if d.Retention == 0 {
		return d, varve.InvalidParam("retention", "a device cannot keep readings for %s: omit it for the stream's retention", b.Retention)
	}
	return d, nil
}

func deviceBody(d *devices.Device) wire.DeviceBody {
	b := wire.DeviceBody{
		Device: d.Device,
		DevicePut: wire.DevicePut{
			Name: d.Name, Type: d.Type, Status: string(d.Status), Location: d.Location, Firmware: d.Firmware, Attributes: rawJSON(d.Attributes),
		},
		CreatedAt: d.CreatedAt, UpdatedAt: d.UpdatedAt, LastSeenAt: orNull(d.LastSeenAt),
		Labels: labelsOf(d.Device),
	}
	if d.Retention != 0 {
		b.Retention = timefmt.FormatDuration(d.Retention)
	}
	return b
}

// labelsOf returns the labels in the name of a device, or nil if it has none.
func labelsOf(device string) map[string]string {
	_, list := devicename.Split(device)
	if len(list) == 0 {
		return nil
	}
	labels := make(map[string]string, len(list))
	for _, l := range list {
		labels[l.Key] = l.Value
	}
	return labels
}
