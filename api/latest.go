package api

import (
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/devices"
	"github.com/varvedb/varve/query"
	"github.com/varvedb/varve/registry"
)

// maxDevices is the maximum number of devices in one request for latest readings.
const maxDevices = 1000

// latestParams are the parameters of the latest readings. The route of a single device has only the
// first seven.
var latestParams = []string{"by", "fields", "consistent", "damaged", "as_of", "precision", "timezone", "devices", "device", "status", "device_type", "attribute", "limit", "cursor"}

type latestHandler struct {
	*responder
	*directory
	now func() time.Time
}

func (h *latestHandler) addRoutes(o *operations) {
	by := append(queryParams("by", "event: the last by event time; arrival: the last to arrive; default event",
		"precision", "unit of a numeric as_of: s, ms, us or ns; default ms",
		"timezone", "of as_of without a zone; default UTC"), asOfParam()...)
	o.raw(http.MethodGet, "/v1/streams/{stream}/devices/{device}/latest", h.getLatest, &huma.Operation{
		OperationID: "latest-reading", Summary: "The latest reading of a device", Tags: []string{"readings"},
		Parameters: slices.Concat(deviceParams(), by, fieldParams()),
		Responses:  o.responses(reflect.TypeFor[wire.LatestBody](), "200"),
	})
	o.raw(http.MethodGet, "/v1/streams/{stream}/latest", h.getLatestOfMany, &huma.Operation{
		OperationID: "latest-readings", Summary: "The latest readings of many devices, or of a whole stream", Tags: []string{"readings"},
		Description: "With devices, one entry for each named device. Without it, pages of the registered devices that have a live reading in the stream. " +
			"Such a page may be short or empty and not the last.",
		Parameters: slices.Concat([]*huma.Param{pathParam("stream", "the stream")},
			namedDeviceParams("all registered devices, page by page; at most 1000 can be named"), by, fieldParams(), deviceFilterParams(), devicePageParams()),
		Responses: o.responses(reflect.TypeFor[wire.LatestOfManyBody](), "200"),
	})
}

// getLatest serves GET /v1/streams/{stream}/devices/{device}/latest. If the device has no readings,
// or only expired ones, the status is 404.
func (h *latestHandler) getLatest(w http.ResponseWriter, r *http.Request) {
	q, err := latestOf(r.URL.Query(), latestParams[:7], h.now())
	if err == nil {
		q.Series, err = seriesOf(r, r.PathValue("device"))
	}
	if err != nil {
		h.fail(w, r, err)
		return
	}
	var a query.LatestAnswer
	err = h.reads.inTurn(r.Context(), func() (err error) {
		a, err = h.query.Latest(r.Context(), q)
		return err
	})
	if err != nil {
		h.fail(w, r, err)
		return
	}
	if !a.Found {
		if err := h.checkSeries(r.Context(), q.Series); err != nil {
			h.fail(w, r, err)
			return
		}
		h.fail(w, r, varve.Errorf(varve.NotFound, "device %q has no reading in stream %s%s, or all have expired", q.Series.Device, q.Series.Stream, arrivedBy(q.AsOf)))
		return
	}
	var buf [512]byte
	out, err := appendLatest(r, append(buf[:0], `{"reading":`...), &a)
	if err != nil {
		h.fail(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	out = wire.AppendNotes(out, missingOf(q.Fields, []query.LatestAnswer{a}).notes())
	writeBytes(w, append(out, '}', '\n'))
}

// appendLatest appends the reading, or null, and the coverage, if any.
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

// getLatestOfMany serves GET /v1/streams/{stream}/latest, with or without devices=a,b.
func (h *latestHandler) getLatestOfMany(w http.ResponseWriter, r *http.Request) {
	asked := r.URL.Query()
	q, err := latestOf(asked, latestParams, h.now())
	if err != nil {
		h.fail(w, r, err)
		return
	}
	q.Series = varve.Series{Tenant: tenantOf(r.Context()), Stream: r.PathValue("stream")}
	var answers []query.LatestAnswer
	var notes []wire.Note
	next := ""
	if namesDevices(asked) {
		answers, notes, err = h.latestOfNamed(r, asked, q)
	} else {
		var page registry.Page[devices.Device]
		page, answers, err = h.latestPage(r, asked, q)
		next = page.Next
	}
	var out []byte
	if err == nil {
		out, err = appendLatestOfMany(r, answers)
	}
	if err != nil {
		h.fail(w, r, err)
		return
	}
	if next != "" {
		out = append(append(append(out, `,"next":"`...), next...), '"')
	}
	out = wire.AppendNotes(out, append(notes, missingOf(q.Fields, answers).notes()...))
	w.Header().Set("Content-Type", "application/json")
	writeBytes(w, append(out, "}\n"...))
}

func (h *latestHandler) latestOfNamed(r *http.Request, asked url.Values, q query.LatestQuery) ([]query.LatestAnswer, []wire.Note, error) {
	for _, name := range []string{"status", "device_type", "attribute", "limit", "cursor"} {
		if asked.Has(name) {
			return nil, nil, varve.InvalidParam("query."+name, "excludes devices: omit it, or devices")
		}
	}
	names := namedDevices(asked)
	if err := checkDevices(r, names); err != nil {
		return nil, nil, err
	}
	ctx := r.Context()
	answers, err := h.readLatest(ctx, q, names)
	if err != nil {
		return nil, nil, err
	}
	var silent []string
	for i := range answers {
		if !answers[i].Found {
			silent = append(silent, answers[i].Series.Device)
		}
	}
	if len(silent) == 0 {
		return answers, nil, nil
	}
	if len(silent) == len(answers) {
		if err := h.checkStream(ctx, q.Series.Tenant, q.Series.Stream); err != nil {
			return nil, nil, err
		}
	}
	notes, err := h.noteDevices(ctx, devicesParam(asked), q.Series.Tenant, q.Series.Stream, silent)
	return answers, notes, err
}

// appendLatestOfMany returns the beginning of an answer, up to the end of its list.
func appendLatestOfMany(r *http.Request, answers []query.LatestAnswer) (out []byte, err error) {
	out = []byte(`{"latest":[`)
	for i := range answers {
		if i > 0 {
			out = append(out, ',')
		}
		out = wire.AppendString(append(out, "\n{\"device\":"...), answers[i].Series.Device)
		if out, err = appendLatest(r, append(out, `,"reading":`...), &answers[i]); err != nil {
			return nil, err
		}
		out = append(out, '}')
	}
	return append(out, "\n]"...), nil
}

// missingOf returns the requested fields that no answer has. If no answer has a reading, it returns an
// empty set, because nothing is known about the fields.
func missingOf(fields []string, answers []query.LatestAnswer) (missing missingFields) {
	found := false
	missing = newMissingFields(fields)
	for i := range answers {
		if a := &answers[i]; a.Found {
			found = true
			missing.remove(func(name string) bool { return !a.Reading.Field(name).IsZero() })
		}
	}
	if !found {
		return nil
	}
	return missing
}

func checkDevices(r *http.Request, devices []string) error {
	if len(devices) == 0 {
		return varve.InvalidParam(devicesParam(r.URL.Query()), "name at least one device, as in ?devices=a,b")
	}
	if len(devices) > maxDevices {
		return varve.InvalidParam(devicesParam(r.URL.Query()), "%d devices are named, the limit is %d", len(devices), maxDevices)
	}
	for _, d := range devices {
		if _, err := seriesOf(r, d); err != nil {
			return varve.InvalidParam(devicesParam(r.URL.Query()), "%s", err)
		}
	}
	return nil
}

func latestOf(asked url.Values, params []string, now time.Time) (q query.LatestQuery, err error) {
	if err := knownOf(asked, params...); err != nil {
		return q, err
	}
	if q.By, err = query.ParseBy(asked.Get("by")); err != nil {
		return q, varve.InvalidParam("query.by", "%s", err)
	}
	if q.AsOf, err = asOfOf(asked, now); err != nil {
		return q, err
	}
	q.Fields = list(asked, "fields")
	if q.SkipDamaged, err = skipDamaged(asked); err != nil {
		return q, err
	}
	q.Consistent, err = boolean(asked, "consistent")
	return q, err
}
