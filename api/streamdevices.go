package api

import (
	"context"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/api/writes"
	"github.com/varvedb/varve/devices"
	"github.com/varvedb/varve/query"
	"github.com/varvedb/varve/registry"
)

type streamDevicesHandler struct {
	*responder
	*directory
	now func() time.Time
}

var streamDevicesParams = []string{"status", "device_type", "attribute", "silent_since", "by", "limit", "cursor", "precision", "timezone"}

func deviceFilterParams() []*huma.Param {
	return append(queryParams("status", "only devices of this status: active, inactive or maintenance", "device_type", "only devices of this type"), &huma.Param{
		Name: "attribute", In: "query", Description: "only devices with this registered attribute, as in site:north; can be repeated, and then all must hold",
		Schema: &huma.Schema{Type: huma.TypeArray, Items: &huma.Schema{Type: huma.TypeString}},
	})
}

// devicePageParams describes the parameters "limit" and "cursor" of lists of devices.
func devicePageParams() []*huma.Param {
	params := queryParams("limit", "registered devices to read for a page, up to 1000; default 100",
		"cursor", "next of the page before; the other parameters must be the same")
	most := float64(registry.MaxLimit)
	params[0].Schema.Maximum = &most
	return params
}

func (h *streamDevicesHandler) addRoutes(o *operations) {
	o.raw(http.MethodGet, "/v1/streams/{stream}/devices", serveJSON(h.responder, h.listDevices), &huma.Operation{
		OperationID: "list-stream-devices", Summary: "The devices of a stream, in the order of their names", Tags: []string{"devices"},
		Description: "Includes registered devices that have a live reading in the stream, with the times of the last one. " +
			"It reads the last reading of each registered device. A page may be short or empty and not the last.",
		Parameters: slices.Concat([]*huma.Param{pathParam("stream", "the stream")}, deviceFilterParams(), queryParams(
			"silent_since", "only devices whose last reading happened, or with by=arrival arrived, before this time: RFC 3339, a date or month, a number, now, today, yesterday, or relative as in -24h or -1mo",
			"by", "event: the last reading by event time; arrival: the last to arrive; default event",
			"precision", "unit of a numeric silent_since: s, ms, us or ns; default ms",
			"timezone", "of silent_since without a zone; default UTC"), devicePageParams()),
		Responses: o.responses(reflect.TypeFor[wire.StreamDeviceList](), "200"),
	})
}

// listDevices serves GET /v1/streams/{stream}/devices.
func (h *streamDevicesHandler) listDevices(r *http.Request) (*wire.StreamDeviceList, error) {
	asked := r.URL.Query()
	if err := writes.Known(asked, streamDevicesParams...); err != nil {
		return nil, err
	}
	since, err := silentSince(asked, h.now())
	if err != nil {
		return nil, err
	}
	q, err := latestOf(url.Values{"by": asked["by"]}, []string{"by"}, h.now())
	if err != nil {
		return nil, err
	}
	q.Series = varve.Series{Tenant: tenantOf(r.Context()), Stream: r.PathValue("stream")}
	page, answers, err := h.latestPage(r, asked, q)
	if err != nil {
		return nil, err
	}
	body := &wire.StreamDeviceList{Devices: []wire.StreamDevice{}, Next: page.Next}
	for i := range answers {
		reading, d := &answers[i].Reading, &page.Items[i]
		at := reading.Time
		if q.By == varve.ByArrival {
			at = reading.Arrived
		}
		if since.IsZero() || at.Before(since) {
			body.Devices = append(body.Devices, wire.StreamDevice{
				Device: d.Device, Status: string(d.Status), Type: d.Type, Time: reading.Time, Arrived: reading.Arrived,
			})
		}
	}
	return body, nil
}

// silentSince parses the parameter silent_since. If it is missing, the time is zero.
func silentSince(asked url.Values, now time.Time) (time.Time, error) {
	f, err := timeFormat(asked)
	if err != nil {
		return time.Time{}, err
	}
	return moment(asked, "silent_since", f, now, time.Time{})
}

// latestPage returns a page of registered devices with a live reading in a stream, and their
// latest readings. It fails with NotFound if the stream does not exist.
func (d *directory) latestPage(r *http.Request, asked url.Values, q query.LatestQuery) (page registry.Page[devices.Device], answers []query.LatestAnswer, err error) {
	ctx := r.Context()
	if err := varve.ValidateName("stream", q.Series.Stream); err != nil {
		return page, nil, varve.InvalidParam("path.stream", "%s", err)
	}
	selected, err := registeredQuery(r, asked)
	if err != nil {
		return page, nil, err
	}
	if selected.Limit, err = positive(asked, "limit", registry.MaxLimit); err != nil {
		return page, nil, err
	}
	selected.Cursor = asked.Get("cursor")
	if page, err = d.devices.List(ctx, selected); err != nil {
		return page, nil, inQuery(err)
	}
	if answers, err = d.latestOfPage(ctx, q, page.Items); err != nil {
		return page, nil, err
	}
	found := page.Items[:0]
	live := answers[:0]
	for i := range answers {
		if answers[i].Found {
			found, live = append(found, page.Items[i]), append(live, answers[i])
		}
	}
	if page.Items = found; len(found) == 0 {
		err = d.checkStream(ctx, q.Series.Tenant, q.Series.Stream)
	}
	return page, live, err
}

func (d *directory) latestOfPage(ctx context.Context, q query.LatestQuery, list []devices.Device) ([]query.LatestAnswer, error) {
	names := make([]string, len(list))
	for i := range list {
		names[i] = list[i].Device
	}
	return d.readLatest(ctx, q, names)
}
