package api

import (
	"context"
	"net/http"
	"net/url"
	"slices"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/aggregate"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/devices"
	"github.com/varvedb/varve/query"
	"github.com/varvedb/varve/registry"
	"github.com/varvedb/varve/streams"
)

// directory looks up the streams and the devices of all tenants. Handlers use it to distinguish an
// empty answer from a misspelt name.
type directory struct {
	streams *streams.Registry
	devices *devices.Registry
	query   *query.Engine
}

// checkStream fails with NotFound if a stream does not exist.
func (d *directory) checkStream(ctx context.Context, tenant, stream string) error {
	st, err := d.streams.Get(ctx, tenant, stream, true)
	if err != nil || len(st.Classes) > 0 {
		return err
	}
	return varve.Errorf(varve.NotFound, "stream %s: not found: GET /v1/streams lists all streams", stream)
}

// checkSeries fails with NotFound if the stream or the device of a series does not exist. A device
// exists if it is registered, or has a live reading in the stream.
func (d *directory) checkSeries(ctx context.Context, s varve.Series) error {
	if err := d.checkStream(ctx, s.Tenant, s.Stream); err != nil {
		return err
	}
	missing, err := d.unregistered(ctx, s.Tenant, s.Stream, []string{s.Device})
	if err != nil || len(missing) == 0 {
		return err
	}
	return errNoDevice(s.Device)
}

// checkDevice fails with NotFound if a device is not registered.
func (d *directory) checkDevice(ctx context.Context, tenant, device string) error {
	missing, err := d.devices.Unregistered(ctx, tenant, []string{device})
	if err != nil || len(missing) == 0 {
		return err
	}
	return errNoDevice(device)
}

func errNoDevice(device string) error {
	return varve.Errorf(varve.NotFound, "device %s: not found: GET /v1/devices lists all devices", device)
}

// unregistered returns the devices that are not registered and have no live reading in a stream.
func (d *directory) unregistered(ctx context.Context, tenant, stream string, names []string) ([]string, error) {
	missing, err := d.devices.Unregistered(ctx, tenant, names)
	if err != nil || len(missing) == 0 {
		return nil, err
	}
	answers, err := d.query.LatestOf(ctx, query.LatestQuery{Series: varve.Series{Tenant: tenant, Stream: stream}}, missing)
	if err != nil {
		return nil, err
	}
	missing = missing[:0]
	for i := range answers {
		if !answers[i].Found {
			missing = append(missing, answers[i].Series.Device)
		}
	}
	return missing, nil
}

// noteDevices returns a note for each named device that does not exist.
func (d *directory) noteDevices(ctx context.Context, param, tenant, stream string, names []string) (notes []wire.Note, err error) {
	names = slices.Compact(slices.Sorted(slices.Values(names)))
	missing, err := d.unregistered(ctx, tenant, stream, names)
	for _, name := range missing {
		notes = append(notes, wire.Note{Param: param, Message: errNoDevice(name).Error()})
	}
	return notes, err
}

// selectDevices returns the devices that a request names, or the registered devices that its
// filters select.
func (d *directory) selectDevices(r *http.Request, asked url.Values) ([]string, error) {
	filters := asked.Get("status") + asked.Get("device_type")
	if asked.Has("devices") {
		names := list(asked, "devices")
		if filters != "" {
			return nil, varve.InvalidParam("query.devices", "excludes status and device_type: omit them, or devices")
		}
		if len(names) == 0 {
			return nil, varve.InvalidParam("query.devices", "no device is named: name devices, or omit it for all")
		}
		for _, d := range names {
			if err := varve.ValidateDevice(d); err != nil {
				return nil, varve.InvalidParam("query.devices", "%s", err)
			}
		}
		return names, nil
	}
	var names []string
	q := registeredQuery(r, asked)
	q.Limit = registry.MaxLimit
	for {
		page, err := d.devices.List(r.Context(), q)
		if err != nil {
			return nil, inQuery(err)
		}
		for i := range page.Items {
			names = append(names, page.Items[i].Device)
		}
		if page.Next == "" || len(names) > aggregate.MaxDevices {
			return names, nil
		}
		q.Cursor = page.Next
	}
}

// registeredQuery returns the query for the registered devices that a request's filters select.
func registeredQuery(r *http.Request, asked url.Values) devices.Query {
	return devices.Query{Tenant: tenantOf(r.Context()), Status: devices.Status(asked.Get("status")), Type: asked.Get("device_type")}
}
