package api

import (
	"errors"
	"io"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/ingest"
)

const (
	// maxRejects is the maximum number of rejections in an answer.
	maxRejects = 10_000
	// maxRejectBytes limits the total size of rejections with stored values. Beyond it, an answer
	// omits the stored values of conflicts.
	maxRejectBytes = 2 << 20
)

// rejections collects the rejected readings of one answer.
type rejections struct {
	text   []byte // JSON, without the brackets
	listed int
	out    []byte // buffer of the answer
}

var rejectionLists = sync.Pool{New: func() any { return new(rejections) }}

func (l *rejections) release() {
	l.text, l.out, l.listed = l.text[:0], l.out[:0], 0
	rejectionLists.Put(l)
}

// ingestHandler serves writes of readings.
type ingestHandler struct {
	*responder
	ingester *ingest.Ingester
	limits   Limits
	lines    *wire.LineMapping
	now      func() time.Time
}

// newIngester returns the ingester of a door, and counts its verdicts in m.
func newIngester(d door, budget *wire.Budget, m *metrics, o *Options) *ingest.Ingester {
	return ingest.New(ingest.Options{
		Router: o.Router, Budget: budget, Now: o.Now,
		Judged: func(b *wire.Batch) { o.Events.Judged(b.Len(), m.verdicts(d, b)) },
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
	o.raw(http.MethodPost, "/v1/streams/{stream}/readings", h.postReadings, &huma.Operation{
		OperationID: "write-readings", Summary: "Write readings", Tags: []string{"readings"},
		Description: "A JSON object or array, NDJSON, CSV with a header, or line protocol; gzip and zstd are understood. " +
			"Every reading gets a verdict. Stored readings and duplicates are durable when the answer arrives; resending is harmless. " +
			"A reading whose id is stored with other values is rejected as a conflict, and the stored ones stay. " +
			"200 if none was rejected, 207 if some were, 422 if all were, 503 if all were and may be stored later.",
		Parameters:  append([]*huma.Param{pathParam("stream", "the stream; it replaces the measurements of line protocol")}, params...),
		RequestBody: &huma.RequestBody{Required: true, Content: bodyContents(o.schema(reflect.TypeFor[wire.SubmittedReading]()))},
		Responses:   responses,
	})
	o.raw(http.MethodPost, "/v1/readings", h.postReadings, &huma.Operation{
		OperationID: "write-lines", Summary: "Write line protocol of several streams", Tags: []string{"readings"},
		Description: "Line protocol, in which each line names its stream as the measurement. The answer is the one of a write to a stream.",
		Parameters:  params[:4],
		RequestBody: &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{
			wire.Line.MediaType(): {Schema: &huma.Schema{Type: huma.TypeString}},
		}},
		Responses: responses,
	})
}

// shapeParams describes the parameters of bodies whose rows or objects are not one complete reading
// each.
func shapeParams() []*huma.Param {
	return queryParams(
		"name_column", "CSV: column with the names of fields, if each row has one value; consecutive rows with the same time, device and id are one reading",
		"value_column", "CSV: with name_column, the column with the values",
		"device_columns", "CSV: all other columns are devices, and their cells are this field",
		"null", "CSV: cells that stand for a missing value, as in NaN,N/A,-",
		"decimal", "CSV: a comma, if numbers have a decimal comma; requires another delimiter",
		"bad_cells", "CSV: skip: omit and count cells that are not values; default reject, which rejects their reading",
		"dst", "local times that occur twice or never: earlier or later; by default they are rejected",
		"time", "arrival: readings without a time happened at their arrival; default required",
		"fields", "JSON: flat: all members but device, time, id and stream are fields; default nested")
}

// bodyNames returns the names of the formats of writes.
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

// postReadings serves POST /v1/streams/{stream}/readings and POST /v1/readings.
func (h *ingestHandler) postReadings(w http.ResponseWriter, r *http.Request) {
	list := rejectionLists.Get().(*rejections)
	defer list.release()
	session, err := h.ingester.Begin(grantOf(r.Context()))
	if err != nil {
		h.failWrite(w, r, err, &varve.Tally{})
		return
	}
	defer session.Close()
	if err := h.readBody(w, r, session, list); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) {
			err = varve.Errorf(varve.Invalid, "the body was cut off: what came before is counted here, send the rest again")
		}
		h.failWrite(w, r, err, &session.Tally)
		return
	}
	list.answer(w, session)
}

// readBody stores the readings of the body. An error concerns the body as a whole, not one
// reading.
func (h *ingestHandler) readBody(w http.ResponseWriter, r *http.Request, session *ingest.Session, list *rejections) error {
	defaults, err := defaultsOf(r)
	if err != nil {
		return err
	}
	asked := r.URL.Query()
	format, err := bodyFormat(r, asked)
	if err != nil {
		return err
	}
	if defaults.Stream == "" && format != wire.Line {
		return varve.InvalidParam("query.format", "readings in %s name no stream: use POST /v1/streams/{stream}/readings", format)
	}
	arrived := h.now()
	defaults.Lines, defaults.Now = h.lines, func() time.Time { return arrived }
	columns, err := wire.ParseColumns(asked)
	if err != nil {
		return err
	}
	arrival, err := arrivalIsTime(asked)
	if err != nil {
		return err
	}
	r.Body = session.Body(r.Context(), r.Body)
	body, err := openBody(w, r, h.limits)
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }() // stored readings are unaffected by an error here
	return session.Read(r.Context(), &ingest.Source{
		Format: format, Body: body, Defaults: defaults, Columns: columns, ArrivalIsTime: arrival,
		Large: r.ContentLength > ingest.SmallBody, Rejected: list.add,
	})
}

// add adds a rejection to the answer, up to maxRejects.
func (l *rejections) add(r ingest.Rejection) {
	v := r.Verdict
	if l.listed == maxRejects {
		return
	}
	if l.listed > 0 {
		l.text = append(l.text, ',')
	}
	l.listed++
	l.text = append(l.text, `{"index":`...)
	l.text = strconv.AppendInt(l.text, r.Index, 10)
	if r.Line > 0 {
		l.text = append(l.text, `,"line":`...)
		l.text = strconv.AppendInt(l.text, int64(r.Line), 10)
	}
	l.text = append(l.text, `,"code":"`...)
	l.text = append(l.text, v.Code...)
	l.text = append(l.text, `","message":`...)
	l.text = wire.AppendString(l.text, v.Message)
	if v.Stored != "" && len(l.text) < maxRejectBytes {
		l.text = append(append(l.text, `,"stored":`...), v.Stored...)
	}
	l.text = append(l.text, '}')
}

// answer writes the verdicts: 200 if no reading was rejected, 207 if some were, 422 if all were,
// 503 if all were and may be stored later.
func (l *rejections) answer(w http.ResponseWriter, session *ingest.Session) {
	tally := &session.Tally
	status := http.StatusOK
	switch {
	case tally.Rejected == 0:
	case tally.Rejected < tally.Total():
		status = http.StatusMultiStatus
	case session.Retryable:
		status = http.StatusServiceUnavailable
		w.Header().Set("Retry-After", "1")
	default:
		status = http.StatusUnprocessableEntity
	}
	out := append(l.out, `{"stored":`...)
	out = strconv.AppendInt(out, tally.Stored, 10)
	out = append(out, `,"duplicates":`...)
	out = strconv.AppendInt(out, tally.Duplicates, 10)
	out = append(out, `,"rejected":`...)
	out = strconv.AppendInt(out, tally.Rejected, 10)
	if session.SkippedCells > 0 {
		out = strconv.AppendInt(append(out, `,"skipped_cells":`...), session.SkippedCells, 10)
	}
	out = append(out, `,"rejects":[`...)
	out = append(out, l.text...)
	out = append(out, ']')
	if int64(l.listed) < tally.Rejected {
		out = append(out, `,"truncated":true`...)
	}
	out = append(out, '}', '\n')
	l.out = out
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	writeBytes(w, out)
}
