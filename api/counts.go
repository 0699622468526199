package api

import (
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/aggregate"
	"github.com/varvedb/varve/api/wire"
)

type countsHandler struct {
	*responder
	*directory
	engine *aggregate.Engine
	now    func() time.Time
}

var countsParams = []string{"devices", "device", "status", "device_type", "attribute", "from", "to", "during", "source", "where", "as_of", "consistent", "damaged", "limit", "precision", "timezone"}

func (h *countsHandler) addRoutes(o *operations) {
	o.raw(http.MethodGet, "/v1/streams/{stream}/counts", serveJSON(h.responder, h.count), &huma.Operation{
		OperationID: "count-readings", Summary: "The numbers of devices and readings of a stream in a window", Tags: []string{"readings"},
		Description: "Exact. With source=readings, it counts the distinct live readings, and reads all of them. " +
			"With source=rollups, it counts the distinct readings in hourly roll-ups, also expired ones, for windows of whole hours; this is cheap. " +
			"Without devices, it includes all registered devices of the tenant that the filters select.",
		Parameters: slices.Concat([]*huma.Param{pathParam("stream", "the stream")}, namedDeviceParams("all registered devices"), deviceFilterParams(), queryParams(
			"from", "from this time on: RFC 3339, a date or month, a number, now, today, yesterday, or relative as in -24h or -1mo; default: the beginning",
			"to", "before this time; default: the end",
			"during", "instead of from and to, a year, month, day, hour or minute in UTC, as in 2024-12 or 2024-12-01",
			"source", "readings: live readings; rollups: hourly roll-ups, also of expired readings, for whole hours; default readings",
			"where", aboutWhere,
			"consistent", "true: include every reading that was acknowledged before the request",
			"damaged", "skip: leave damaged rows and lost ranges out, and name them in the coverage; without it they fail the request",
			"limit", "maximum number of entries in counts; devices and readings include all; default: all",
			"precision", "unit of numeric from, to and as_of: s, ms, us or ns; default ms",
			"timezone", "of from, to and as_of without a zone; default UTC"), asOfParam()),
		Responses: o.responses(reflect.TypeFor[wire.CountsBody](), "200"),
	})
}

// count serves GET /v1/streams/{stream}/counts.
func (h *countsHandler) count(r *http.Request) (*wire.CountsBody, error) {
	asked := r.URL.Query()
	q, err := countOf(r, asked, h.now())
	if err != nil {
		return nil, err
	}
	limit, err := positive(asked, "limit", maxLimit)
	if err != nil {
		return nil, err
	}
	if q.Devices, err = h.selectDevices(r, asked); err != nil {
		return nil, err
	}
	counts, err := h.engine.Count(r.Context(), q)
	if err != nil {
		return nil, inQuery(err)
	}
	if counts.Readings == 0 {
		if err := h.checkStream(r.Context(), q.Tenant, q.Stream); err != nil {
			return nil, err
		}
	}
	body := &wire.CountsBody{
		Source: q.Source.String(), Devices: len(counts.Devices), Readings: counts.Readings, Counts: make([]wire.DeviceCount, len(counts.Devices)),
	}
	for i, c := range counts.Devices {
		body.Counts[i] = wire.DeviceCount(c)
	}
	if limit > 0 && len(body.Counts) > limit {
		body.Counts = body.Counts[:limit]
	}
	if namesDevices(asked) {
		if body.Notes, err = h.noteDevices(r.Context(), devicesParam(asked), q.Tenant, q.Stream, uncounted(q.Devices, counts)); err != nil {
			return nil, err
		}
	}
	body.Notes = append(body.Notes, whereNotes(&counts.Profile)...)
	if q.Source != aggregate.FromRollups {
		body.Coverage, err = coverage(r, counts.Coverage)
	}
	return body, err
}

// uncounted returns the given devices that are missing from "counts", because they have no readings.
func uncounted(names []string, counts *aggregate.Counts) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return slices.ContainsFunc(counts.Devices, func(c aggregate.DeviceCount) bool { return c.Device == name })
	})
}

func countOf(r *http.Request, asked url.Values, now time.Time) (q aggregate.CountQuery, err error) {
	if err := knownOf(asked, countsParams...); err != nil {
		return q, err
	}
	q.Tenant, q.Stream = tenantOf(r.Context()), r.PathValue("stream")
	if err := varve.ValidateName("stream", q.Stream); err != nil {
		return q, varve.InvalidParam("path.stream", "%s", err)
	}
	if q.Window, err = windowOf(asked, now); err != nil {
		return q, err
	}
	if q.Source, err = aggregate.ParseSource(asked.Get("source")); err != nil {
		return q, varve.InvalidParam("query.source", "%s", err)
	}
	if q.Where, err = filterOf(asked); err != nil {
		return q, err
	}
	if q.AsOf, err = asOfOf(asked, now); err != nil {
		return q, err
	}
	if q.Consistent, err = boolean(asked, "consistent"); err != nil {
		return q, err
	}
	q.SkipDamaged, err = skipDamaged(asked)
	return q, err
}
