package api

import (
	"net/http"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"github.com/varvedb/varve/api/wire"
)

func (s *Server) routeReadings(o *operations) {
	o.raw(http.MethodPost, "/v1/streams/{stream}/readings", s.postReadings, &huma.Operation{
		OperationID: "write-readings", Summary: "Write readings", Tags: []string{"readings"},
		Description: "A JSON object or array, NDJSON, or CSV with a header; gzip and zstd are understood. " +
			"Every reading gets a verdict. Stored readings and duplicates are durable when the answer arrives; resending is harmless. " +
			"A reading whose id is stored with other values is rejected as a conflict, and the stored ones stay. " +
			"200 if none was rejected, 207 if some were, 422 if all were, 503 if all were and may be stored later.",
		Parameters: append([]*huma.Param{pathParam("stream", "the stream")},
			queryParams(
				"precision", "unit of numeric times: s, ms, us or ns; default ms",
				"timezone", "of times without a zone, as in Europe/Berlin; default UTC",
				"device", "of readings that name none",
				"columns", "CSV: names of the columns, if the body has no header",
				"time_column", "CSV: column with the time; default time, else timestamp",
				"device_column", "CSV: column with the device; default device",
				"id_column", "CSV: column with the id; default id",
				"types", "CSV: kinds of columns, as in serial:string,ok:boolean",
				"delimiter", "CSV: between columns; default a comma, tab for tabs",
			)...),
		RequestBody: &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{
			"application/json":     {Schema: o.schema(reflect.TypeFor[wire.SubmittedReading]())},
			"application/x-ndjson": {Schema: o.schema(reflect.TypeFor[wire.SubmittedReading]())},
			"text/csv":             {Schema: &huma.Schema{Type: huma.TypeString}},
		}},
		Responses: o.responses(reflect.TypeFor[wire.WriteAnswer](), "200", "207", "422", "503"),
	})
	series := []*huma.Param{pathParam("stream", "the stream"), pathParam("device", "the device")}
	fields := queryParams("fields", "only these, separated by commas", "consistent", "true: see every reading acknowledged before",
		"damaged", "skip: leave damaged rows out, and name them in the coverage; without it they fail the request")
	o.raw(http.MethodGet, "/v1/streams/{stream}/devices/{device}/readings", s.getReadings, &huma.Operation{
		OperationID: "read-readings", Summary: "Readings of a device in a window", Tags: []string{"readings"},
		Description: "Streamed, in any number. With a limit, next leads to the following page, also after tables were rotated. " +
			"NDJSON and CSV by Accept or format; there, next and coverage come as the trailers Varve-Next and Varve-Coverage. Coverage is for keys of the tenant default. " +
			"The columns of CSV are time, id, arrived and the fields; a field of such a name is fields.time, fields.id or fields.arrived.",
		Parameters: append(append(series, queryParams(
			"from", "from this time on: RFC 3339, a number, now, or relative as in -24h; default: the beginning",
			"to", "before this time; default: the end",
			"during", "instead of from and to, a year, month, day, hour or minute in UTC, as in 2024-12, 2024-12-01 or 2024-12-01T14",
			"order", "asc or desc; default asc",
			"limit", "at most so many readings; default: all",
			"cursor", "next of the page before; from, to, during and order must be the same",
			"explain", "true: return the tables that would be read and the cost, and read nothing",
			"format", "json, ndjson or csv; default by Accept",
			"precision", "unit of numeric from and to: s, ms, us or ns; default ms",
			"timezone", "of from and to without a zone; default UTC")...), fields...),
		Responses: o.readingsResponses(),
	})
	by := queryParams("by", "event: the last by event time; arrival: the last to arrive; default event")
	o.raw(http.MethodGet, "/v1/streams/{stream}/devices/{device}/latest", s.getLatest, &huma.Operation{
		OperationID: "latest-reading", Summary: "The latest reading of a device", Tags: []string{"readings"},
		Parameters: append(append(series, by...), fields...),
		Responses:  o.responses(reflect.TypeFor[wire.LatestBody](), "200"),
	})
	o.raw(http.MethodGet, "/v1/streams/{stream}/latest", s.getLatestOfMany, &huma.Operation{
		OperationID: "latest-readings", Summary: "The latest readings of many devices", Tags: []string{"readings"},
		Parameters: append(append([]*huma.Param{pathParam("stream", "the stream"), {
			Name: "device", In: "query", Required: true, Description: "a device; repeat it for up to 1000",
			Schema: &huma.Schema{Type: huma.TypeArray, Items: &huma.Schema{Type: huma.TypeString}},
		}}, by...), fields...),
		Responses: o.responses(reflect.TypeFor[wire.LatestOfManyBody](), "200"),
	})
}
