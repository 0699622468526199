package api

import (
	"net/http"
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/api/writes"
	"github.com/varvedb/varve/arrivals"
	"github.com/varvedb/varve/ingest"
)

type ingestHandler struct{ writes.Readings }

// newIngester returns the ingester of a door, and counts its verdicts in m.
func newIngester(d door, budget *wire.Budget, m *metrics, arrived *arrivals.Counter, o *Options) *ingest.Ingester {
	return ingest.New(ingest.Options{
		Router: o.Router, Budget: budget, Now: o.Now, Rejects: o.Rejects, Clocks: o.Clocks, Door: string(d), Received: m.received(d),
		Judged: func(b *wire.Batch) {
			arrived.Add(b.Readings, b.Verdicts)
			o.Events.Judged(b.Len(), m.verdicts(d, b))
		},
	})
}

func (h *ingestHandler) addRoutes(o *operations) {
	params := append(queryParams("format", wire.BodyFormatNames()+"; default by Content-Type"), queryParams(
		"precision", "unit of numeric times: s, ms, us or ns; default ms, in line protocol ns",
		"timezone", "of times without a zone, as in Europe/Berlin; default UTC",
		"device", "of readings that name none",
		"columns", "CSV: names of the columns, if the body has no header",
		"time_column", "CSV: column with the time; default time, else timestamp",
		"device_column", "CSV: column with the device; default device",
		"id_column", "CSV: column with the id; default id",
		"types", "CSV: kinds of columns, as in serial:string,ok:boolean",
		"delimiter", "CSV: between columns; default a comma, tab for tabs",
	)...)
	params = append(params, shapeParams()...)
	params[0].Schema = &huma.Schema{Type: huma.TypeString, Enum: bodyNames()}
	responses := o.responses(reflect.TypeFor[wire.WriteAnswer](), "200", "207", "422", "503")
	o.raw(http.MethodPost, "/v1/streams/{stream}/readings", h.Post, &huma.Operation{
		OperationID: "write-readings", Summary: "Write readings", Tags: []string{"readings"},
		Description: "A JSON object or array, NDJSON, CSV with a header, or line protocol; gzip and zstd are understood. " +
			"Every reading gets a verdict. Stored readings and duplicates are durable when the answer arrives; resending is harmless. " +
			"A reading whose id is stored with other values is rejected as a conflict, and the stored ones stay. " +
			"200 if none was rejected, 207 if some were, 422 if all were, 503 if all were and may be stored later. " +
			"The header " + writes.LateHeader + " has the number of stored readings that happened an hour or more before; without any, it is absent.",
		Parameters:  append([]*huma.Param{pathParam("stream", "the stream; it replaces the measurements of line protocol")}, params...),
		RequestBody: &huma.RequestBody{Required: true, Content: bodyContents(o.schema(reflect.TypeFor[wire.SubmittedReading]()))},
		Responses:   responses,
	})
	o.raw(http.MethodPost, "/v1/readings", h.Post, &huma.Operation{
		OperationID: "write-lines", Summary: "Write line protocol of several streams", Tags: []string{"readings"},
		Description: "Line protocol, in which each line names its stream as the measurement. The answer is the one of a write to a stream.",
		Parameters:  params[:4],
		RequestBody: &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{
			wire.Line.MediaType(): {Schema: &huma.Schema{Type: huma.TypeString}},
		}},
		Responses: responses,
	})
}

// shapeParams describes the parameters for bodies in unusual forms, such as rows with one value each or
// readings without a time.
func shapeParams() []*huma.Param {
	return queryParams(
		"name_column", "CSV: column with the names of fields, if each row has one value; consecutive rows with the same time, device and id are one reading",
		"value_column", "CSV: with name_column, the column with the values",
		"device_columns", "CSV: all other columns are devices, and their cells are this field",
		"null", "CSV: up to 100 cells that stand for a missing value, as in NaN,N/A,-",
		"decimal", "CSV: a comma, if numbers have a decimal comma; requires another delimiter",
		"bad_cells", "CSV: skip: omit and count cells that are not values; default reject, which rejects their reading",
		"dst", "local times that occur twice or never: earlier or later; by default they are rejected",
		"time", "arrival: readings without a time happened at their arrival, and equal ones of a request are one reading; default required",
		"fields", "JSON: flat: all members but device, time, id and stream are fields, and objects are JSON values, also one named fields; default nested")
}

func bodyNames() (names []any) {
	for _, f := range wire.BodyFormats() {
		names = append(names, f.Name())
	}
	return names
}

// bodyContents describes the bodies of a write, by media type.
func bodyContents(reading *huma.Schema) map[string]*huma.MediaType {
	all := map[string]*huma.MediaType{}
	for _, f := range wire.BodyFormats() {
		schema := &huma.Schema{Type: huma.TypeString}
		if f == wire.JSON || f == wire.NDJSON {
			schema = reading
		}
		media, _, _ := strings.Cut(f.MediaType(), ";")
		all[media] = &huma.MediaType{Schema: schema}
	}
	return all
}
