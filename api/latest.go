package api

import (
	"net/http"
	"net/url"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/query"
)

// maxDevices is the maximum number of devices in one request for latest readings.
const maxDevices = 1000

var latestParams = []string{"by", "fields", "consistent", "damaged", "device"}

// latestHandler serves the latest readings of devices.
type latestHandler struct {
	*responder
	query *query.Engine
}

func (h *latestHandler) addRoutes(o *operations) {
	by := queryParams("by", "event: the last by event time; arrival: the last to arrive; default event")
	o.raw(http.MethodGet, "/v1/streams/{stream}/devices/{device}/latest", h.getLatest, &huma.Operation{
		OperationID: "latest-reading", Summary: "The latest reading of a device", Tags: []string{"readings"},
		Parameters: append(append(deviceParams(), by...), fieldParams()...),
		Responses:  o.responses(reflect.TypeFor[wire.LatestBody](), "200"),
	})
	o.raw(http.MethodGet, "/v1/streams/{stream}/latest", h.getLatestOfMany, &huma.Operation{
		OperationID: "latest-readings", Summary: "The latest readings of many devices", Tags: []string{"readings"},
		Parameters: append(append([]*huma.Param{pathParam("stream", "the stream"), {
			Name: "device", In: "query", Required: true, Description: "a device; repeat it for up to 1000",
			Schema: &huma.Schema{Type: huma.TypeArray, Items: &huma.Schema{Type: huma.TypeString}},
		}}, by...), fieldParams()...),
		Responses: o.responses(reflect.TypeFor[wire.LatestOfManyBody](), "200"),
	})
}

// getLatest serves GET /v1/streams/{stream}/devices/{device}/latest. If the device has no readings,
// or only expired ones, the status is 404.
func (h *latestHandler) getLatest(w http.ResponseWriter, r *http.Request) {
	q, err := latestOf(r.URL.Query(), latestParams[:4])
	if err == nil {
		q.Series, err = seriesOf(r, r.PathValue("device"))
	}
	if err != nil {
		h.fail(w, r, err)
		return
	}
	a, err := h.query.Latest(r.Context(), q)
	if err != nil {
		h.fail(w, r, err)
		return
	}
	if !a.Found {
		h.fail(w, r, varve.Errorf(varve.NotFound, "device %q has no reading in stream %s, or all have expired", q.Series.Device, q.Series.Stream))
		return
	}
	var buf [512]byte
	out, err := appendLatest(r, append(buf[:0], `{"reading":`...), &a)
	if err != nil {
		h.fail(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	writeBytes(w, append(out, '}', '\n'))
}

// appendLatest appends the reading, or null, and the coverage.
func appendLatest(r *http.Request, dst []byte, a *query.LatestAnswer) ([]byte, error) {
	if a.Found {
		dst = wire.AppendReading(dst, &a.Reading)
	} else {
		dst = append(dst, "null"...)
	}
	cover, err := coverage(r, a.Coverage)
	if cover != nil {
		dst = append(append(dst, `,"coverage":`...), cover...)
	}
	return dst, err
}

// getLatestOfMany serves GET /v1/streams/{stream}/latest?device=a&device=b.
func (h *latestHandler) getLatestOfMany(w http.ResponseWriter, r *http.Request) {
	asked := r.URL.Query()
	q, err := latestOf(asked, latestParams)
	devices := asked["device"]
	if err == nil {
		err = checkDevices(r, devices)
	}
	if err != nil {
		h.fail(w, r, err)
		return
	}
	q.Series = varve.Series{Tenant: tenantOf(r.Context()), Stream: r.PathValue("stream")}
	answers, err := h.query.LatestOf(r.Context(), q, devices)
	if err != nil {
		h.fail(w, r, err)
		return
	}
	out := []byte(`{"latest":[`)
	for i := range answers {
		if i > 0 {
			out = append(out, ',')
		}
		out = wire.AppendString(append(out, "\n{\"device\":"...), answers[i].Series.Device)
		if out, err = appendLatest(r, append(out, `,"reading":`...), &answers[i]); err != nil {
			h.fail(w, r, err)
			return
		}
		out = append(out, '}')
	}
	w.Header().Set("Content-Type", "application/json")
	writeBytes(w, append(out, "\n]}\n"...))
}

func checkDevices(r *http.Request, devices []string) error {
	if len(devices) == 0 {
		return varve.InvalidParam("query.device", "name at least one device, as in ?device=a&device=b")
	}
	if len(devices) > maxDevices {
		return varve.InvalidParam("query.device", "%d devices are named, the limit is %d", len(devices), maxDevices)
	}
	for _, d := range devices {
		if _, err := seriesOf(r, d); err != nil {
			return varve.InvalidParam("query.device", "%s", err)
		}
	}
	return nil
}

func latestOf(asked url.Values, params []string) (q query.LatestQuery, err error) {
	if err := known(asked, params...); err != nil {
		return q, err
	}
	if q.By, err = varve.ParseBy(asked.Get("by")); err != nil {
		return q, varve.InvalidParam("query.by", "%s", err)
	}
	q.Fields = list(asked, "fields")
	if q.SkipDamaged, err = skipDamaged(asked); err != nil {
		return q, err
	}
	q.Consistent, err = boolean(asked, "consistent")
	return q, err
}
