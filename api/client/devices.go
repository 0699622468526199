package client

import (
	"bytes"
	"context"
	"encoding/json"
	"github.com/varvedb/varve/api/wire"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strconv"
)

// List selects one page of a list.
type List struct {
	Limit  int    // maximum number of entries in the page; 0 means the server's default
	Cursor string // Next of the previous page; "" means the first page
}

func (l List) values() url.Values {
	v := url.Values{}
	if l.Limit > 0 {
		v.Set("limit", strconv.Itoa(l.Limit))
	}
	if l.Cursor != "" {
		v.Set("cursor", l.Cursor)
	}
	return v
}

// Pages iterates over a list. The function "get" returns a page and the cursor of the next one.
func Pages[T any](l List, get func(List) (page []T, next string, err error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for {
			page, next, err := get(l)
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			for _, one := range page {
				if !yield(one, nil) {
					return
				}
			}
			if l.Cursor = next; next == "" {
				return
			}
		}
	}
}

func sendJSON(method, path string, body any) request {
	return request{
		method: method, path: path, header: http.Header{"Content-Type": {"application/json"}},
		body: func() (io.Reader, error) {
			text, err := json.Marshal(body)
			return bytes.NewReader(text), err
		},
	}
}

func devicePath(device string) string { return "/v1/devices/" + segment(device) }

// Device returns a device. If the device does not exist, Device fails with varve.NotFound.
func (c DeviceCalls) Device(ctx context.Context, device string) (wire.DeviceBody, error) {
	return getJSON[wire.DeviceBody](ctx, c.connection, request{method: http.MethodGet, path: devicePath(device)})
}

// PutDevice registers a device, or replaces its description.
func (c DeviceCalls) PutDevice(ctx context.Context, device string, d wire.DevicePut) (wire.DeviceBody, error) {
	return getJSON[wire.DeviceBody](ctx, c.connection, sendJSON(http.MethodPut, devicePath(device), d))
}

// DeleteDevice deletes the record of a device. If the device does not exist, DeleteDevice fails with
// varve.NotFound.
func (c DeviceCalls) DeleteDevice(ctx context.Context, device string) error {
	return c.deleteObject(ctx, devicePath(device))
}

// Devices returns a page of the devices with a status. An empty status means any.
func (c DeviceCalls) Devices(ctx context.Context, status string, l List) (wire.DeviceList, error) {
	return c.SelectDevices(ctx, DeviceQuery{Status: status}, l)
}

// HealthQuery selects and orders devices. An empty Search, Status, Type or Attributes selects all. Other
// empty fields mean the server's defaults.
type HealthQuery struct {
	Search, Status, Type string
	Attributes           []string // as in a DeviceQuery
	Window               string   // the window in which completeness is computed, as in 7d
	Sort                 string   // worst, name, last_seen, lag or completeness
}

// DeviceHealth returns a page of devices with their lag, completeness and open alerts.
func (c DeviceCalls) DeviceHealth(ctx context.Context, q HealthQuery, l List) (wire.DeviceHealthList, error) {
	r := request{method: http.MethodGet, path: "/v1/device-health", query: l.values()}
	for name, text := range map[string]string{"search": q.Search, "status": q.Status, "device_type": q.Type, "window": q.Window, "sort": q.Sort} {
		if text != "" {
			r.query.Set(name, text)
		}
	}
	setLists(r.query, map[string][]string{"attribute": q.Attributes})
	return getJSON[wire.DeviceHealthList](ctx, c.connection, r)
}
