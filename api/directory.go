package api

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/varvedb/varve"
	"github.com/varvedb/varve/aggregate"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/devices"
	"github.com/varvedb/varve/query"
	"github.com/varvedb/varve/registry"
	"github.com/varvedb/varve/streams"
)

// directory looks up the streams and the devices of all tenants. Handlers use it to distinguish an
// empty answer from a misspelled name.
type directory struct {
	streams *streams.Registry
	devices *devices.Registry
	query   *query.Engine
	reads   *reads
}

// readLatest returns the latest readings of devices. It must not be called within reads.inTurn.
func (d *directory) readLatest(ctx context.Context, q query.LatestQuery, names []string) (answers []query.LatestAnswer, err error) {
	err = d.reads.inTurn(ctx, func() (err error) {
		answers, err = d.query.LatestOf(ctx, q, names)
		return err
	})
	return answers, err
}

// checkStream fails with NotFound if a stream does not exist.
func (d *directory) checkStream(ctx context.Context, tenant, stream string) error {
	ok, err := d.streams.Exists(ctx, tenant, stream)
	if err != nil || ok {
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
	return &wire.NoDeviceError{Err: varve.Errorf(varve.NotFound, "device %s: not found: GET /v1/devices lists all devices", device)}
}

// unregistered returns the devices that are not registered and have no live reading in a stream.
func (d *directory) unregistered(ctx context.Context, tenant, stream string, names []string) ([]string, error) {
	missing, err := d.devices.Unregistered(ctx, tenant, names)
	if err != nil || len(missing) == 0 {
		return nil, err
	}
	answers, err := d.readLatest(ctx, query.LatestQuery{Series: varve.Series{Tenant: tenant, Stream: stream}}, missing)
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

// noteNames returns a note for the stream, and one for the device, if they do not exist. An empty name
// is not looked up.
func (d *directory) noteNames(ctx context.Context, prefix string, s varve.Series) (notes []wire.Note, err error) {
	add := func(param string, err error) error {
		if varve.FailureOf(err) != varve.NotFound {
			return err
		}
		notes = append(notes, wire.Note{Param: prefix + "." + param, Message: err.Error()})
		return nil
	}
	if s.Stream != "" {
		err = add("stream", d.checkStream(ctx, s.Tenant, s.Stream))
	}
	if s.Device != "" && err == nil {
		err = add("device", d.checkDevice(ctx, s.Tenant, s.Device))
	}
	return notes, err
}

// fieldDevices is the maximum number of devices whose latest readings hasField reads.
const fieldDevices = 100

// hasField reports whether a latest reading of a stream has a field. Without a device, it searches
// the latest readings of some devices. If it finds no reading, it returns true.
func (d *directory) hasField(ctx context.Context, tenant, stream, device, field string) (bool, error) {
	names := []string{device}
	if device == "" {
		page, err := d.devices.List(ctx, devices.Query{Tenant: tenant, Limit: fieldDevices})
		if err != nil {
			return false, err
		}
		names = names[:0]
		for i := range page.Items {
			names = append(names, page.Items[i].Device)
		}
	}
	answers, err := d.readLatest(ctx, query.LatestQuery{Series: varve.Series{Tenant: tenant, Stream: stream}}, names)
	if err != nil {
		return false, err
	}
	found := false
	for i := range answers {
		if !answers[i].Found {
			continue
		}
		if found = true; !answers[i].Reading.Field(field).IsZero() {
			return true, nil
		}
	}
	return !found, nil // without readings, the fields are unknown, so any field may exist
}

func namesDevices(asked url.Values) bool { return asked.Has("devices") || asked.Has("device") }

// devicesParam returns the parameter by which a request names devices.
func devicesParam(asked url.Values) string {
	if asked.Has("device") && !asked.Has("devices") {
		return "query.device"
	}
	return "query.devices"
}

// namedDevices returns the devices that a request names, by devices=a,b or by device=a&device=b.
func namedDevices(asked url.Values) []string {
	return append(list(asked, "devices"), asked["device"]...)
}

// namedDeviceParams returns the parameters that name devices. The argument "otherwise" describes the
// default.
func namedDeviceParams(otherwise string) []*huma.Param {
	return append(queryParams("devices", "only these, separated by commas; default: "+otherwise), &huma.Param{
		Name: "device", In: "query", Description: "a device; can be repeated, instead of devices",
		Schema: &huma.Schema{Type: huma.TypeArray, Items: &huma.Schema{Type: huma.TypeString}},
	})
}

// selectDevices returns the devices that a request names, or the registered devices with the requested
// status, type and attributes. If more than aggregate.MaxDevices devices match, the result may be incomplete,
// but it still has too many devices, so that the query fails.
func (d *directory) selectDevices(r *http.Request, asked url.Values) ([]string, error) {
	filters := asked.Get("status") + asked.Get("device_type") + strings.Join(asked["attribute"], "")
	if namesDevices(asked) {
		names := namedDevices(asked)
		if filters != "" {
			return nil, varve.InvalidParam(devicesParam(asked), "excludes status, device_type and attribute: omit them, or devices")
		}
		if len(names) == 0 {
			return nil, varve.InvalidParam(devicesParam(asked), "no device is named: name devices, or omit it for all")
		}
		for _, d := range names {
			if err := varve.ValidateDevice(d); err != nil {
				return nil, varve.InvalidParam(devicesParam(asked), "%s", err)
			}
		}
		return names, nil
	}
	var names []string
	q, err := registeredQuery(r, asked)
	if err != nil {
		return nil, err
	}
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

func registeredQuery(r *http.Request, asked url.Values) (devices.Query, error) {
	attributes, err := devices.ParseAttributes(asked["attribute"])
	if err != nil {
		return devices.Query{}, inQuery(err)
	}
	return devices.Query{
		Tenant: tenantOf(r.Context()), Status: devices.Status(asked.Get("status")), Type: asked.Get("device_type"), Attributes: attributes,
	}, nil
}
