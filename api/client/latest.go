package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/query"
)

// Latest is the latest reading of one device.
type Latest struct {
	Device   string
	Reading  *varve.Reading // nil if the device has no live reading
	Coverage query.Coverage
}

// LatestQuery selects the latest readings of devices in a stream.
type LatestQuery struct {
	Stream     string
	By         varve.By
	Devices    []string // if empty, pages of all registered devices with a live reading
	Status     string   // without Devices: only devices of this status
	DeviceType string   // without Devices: only devices of this type
	Attributes []string // without Devices: only devices with these attributes, as in site:north
	Fields     []string // if empty, all fields
	AsOf       string   // only readings that had arrived by this time, as in a Query
	List                // selects a page of devices; only without Devices
}

// LatestPage is a page of latest readings. A page may be empty even if others follow.
type LatestPage struct {
	Latest []Latest
	Next   string // the cursor of the next page; "" on the last page
	Notes  []wire.Note
}

// Latest returns the latest readings of devices of a stream, in the order of the arguments.
func (c ReadingCalls) Latest(ctx context.Context, stream string, by varve.By, devices ...string) ([]Latest, error) {
	if len(devices) == 0 {
		return nil, varve.InvalidParam("device", "missing: name devices, or use LatestPage for a whole stream")
	}
	page, err := c.LatestPage(ctx, LatestQuery{Stream: stream, By: by, Devices: devices})
	return page.Latest, err
}

// LatestPage returns the latest readings of the named devices, or, without names, of a page of the
// selected devices.
func (c ReadingCalls) LatestPage(ctx context.Context, q LatestQuery) (page LatestPage, err error) {
	type answer struct {
		Latest []struct {
			Device   string          `json:"device"`
			Reading  json.RawMessage `json:"reading"`
			Coverage query.Coverage  `json:"coverage"`
		} `json:"latest"`
		Next  string      `json:"next"`
		Notes []wire.Note `json:"notes"`
	}
	r := request{method: http.MethodGet, path: streamPath(q.Stream) + "/latest", query: q.values()}
	setParams(r.query, map[string]string{"by": q.By.String(), "status": q.Status, "device_type": q.DeviceType, "as_of": q.AsOf})
	setLists(r.query, map[string][]string{"fields": q.Fields, "device": q.Devices, "attribute": q.Attributes})
	a, err := getJSON[answer](ctx, c.connection, r)
	if err != nil {
		return page, err
	}
	page.Next, page.Notes = a.Next, a.Notes
	for _, l := range a.Latest {
		one := Latest{Device: l.Device, Coverage: l.Coverage}
		if string(l.Reading) != "null" {
			r, err := wire.ParseAnswer(l.Reading, varve.Series{Tenant: varve.DefaultTenant, Stream: q.Stream, Device: l.Device})
			if err != nil {
				return page, err
			}
			one.Reading = &r
		}
		page.Latest = append(page.Latest, one)
	}
	return page, nil
}

// DeviceQuery selects registered devices by status, type, attributes and silence.
type DeviceQuery struct {
	Status, Type string   // "" means any
	Attributes   []string // the device must have all of them, as in site:north
	// SilentSince, if set, selects devices without readings since that time. It has the same forms
	// as From in a Query.
	SilentSince string
	// By selects the time that StreamDevices compares with SilentSince. SelectDevices ignores it.
	By varve.By
}

// SelectDevices returns a page of the selected devices. It compares SilentSince, if set, with the last
// arrival of each device in any stream. Then a page may be empty even if others follow.
func (c DeviceCalls) SelectDevices(ctx context.Context, q DeviceQuery, l List) (wire.DeviceList, error) {
	r := request{method: http.MethodGet, path: "/v1/devices", query: l.values()}
	setParams(r.query, map[string]string{"status": q.Status, "device_type": q.Type, "silent_since": q.SilentSince})
	setLists(r.query, map[string][]string{"attribute": q.Attributes})
	return getJSON[wire.DeviceList](ctx, c.connection, r)
}

// StreamDevices returns a page of the selected devices with a live reading in a stream. A page may
// be empty even if others follow.
func (c ReadingCalls) StreamDevices(ctx context.Context, stream string, q DeviceQuery, l List) (wire.StreamDeviceList, error) {
	r := request{method: http.MethodGet, path: streamPath(stream) + "/devices", query: l.values()}
	setParams(r.query, map[string]string{"status": q.Status, "device_type": q.Type, "silent_since": q.SilentSince, "by": q.By.String()})
	setLists(r.query, map[string][]string{"attribute": q.Attributes})
	return getJSON[wire.StreamDeviceList](ctx, c.connection, r)
}

// StreamSeries returns a page of the series of a stream that have stored readings. The argument "cursor"
// is Next of the page before, or "". A device may be on several pages, and need not be registered. On
// DynamoDB, each page scans a table.
func (c ReadingCalls) StreamSeries(ctx context.Context, stream, cursor string) (wire.SeriesList, error) {
	l := List{Cursor: cursor}
	return getJSON[wire.SeriesList](ctx, c.connection, request{method: http.MethodGet, path: streamPath(stream) + "/series", query: l.values()})
}

// CountQuery selects the readings to count. From, To and During are as in a Query.
type CountQuery struct {
	Stream             string
	Devices            []string // if empty, all registered devices that the next fields select
	Status, DeviceType string   // "" means any
	Attributes         []string // only devices with all of them, as in site:north
	From, To, During   string
	Where              string // if set, the filter that readings must match; not for roll-ups
	Source             string // "readings" (or ""), or "rollups", which also count expired readings
	AsOf               string // only readings that had arrived by this time, as in a Query
}

// Counts returns the numbers of devices and readings of a stream in a window.
func (c ReadingCalls) Counts(ctx context.Context, q CountQuery) (wire.CountsBody, error) {
	r := request{method: http.MethodGet, path: streamPath(q.Stream) + "/counts", query: url.Values{}}
	setParams(r.query, map[string]string{
		"status": q.Status, "device_type": q.DeviceType, "from": q.From, "to": q.To, "during": q.During, "source": q.Source, "where": q.Where, "as_of": q.AsOf,
	})
	setLists(r.query, map[string][]string{"device": q.Devices, "attribute": q.Attributes})
	return getJSON[wire.CountsBody](ctx, c.connection, r)
}

func streamPath(stream string) string { return "/v1/streams/" + segment(stream) }

// setLists sets the parameters whose lists are not empty. Each value is a parameter of its own.
func setLists(v url.Values, params map[string][]string) {
	for name, list := range params {
		if len(list) > 0 {
			v[name] = slices.Clone(list)
		}
	}
}

// setParams sets the parameters that are not empty.
func setParams(v url.Values, params map[string]string) {
	for name, value := range params {
		if value != "" {
			v.Set(name, value)
		}
	}
}
