package api

import (
	"context"
	"errors"
	"io"
	"net/http"
	"reflect"
	"strconv"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/apikeys"
	"github.com/varvedb/varve/router"
)

const (
	// maxRejects is the maximum number of rejections in an answer.
	maxRejects = 10_000
	// maxRejectBytes is the size of rejections above which an answer omits the stored values
	// of conflicts.
	maxRejectBytes = 2 << 20
)

// maxInvalid is the number of invalid readings in a body, beyond the number of valid
// ones. A body with more does not contain readings, and its rest is not parsed.
const maxInvalid = 100_000

// ingest is the state of one request that writes readings.
type ingest struct {
	h       *ingestHandler
	batch   wire.Batch
	mem     wire.Memory
	tally   varve.Tally
	rejects []byte // JSON, without the brackets
	listed  int
	invalid int64         // rejected for good
	first   varve.Verdict // the first verdict of those
	begun   bool          // a part of the body was charged
	soon    bool          // a retry may succeed for all rejections so far
	out     []byte
	index   int64 // of the batch's first reading in the body
}

var ingests = sync.Pool{New: func() any { return new(ingest) }}

func (in *ingest) release() {
	in.batch.Share(nil)
	in.batch.Reset()
	in.h, in.tally, in.listed, in.index, in.begun = nil, varve.Tally{}, 0, 0, false
	in.invalid, in.first = 0, varve.Verdict{}
	in.rejects, in.out = in.rejects[:0], in.out[:0]
	ingests.Put(in)
}

// ingestHandler serves writes of readings.
type ingestHandler struct {
	*responder
	router  *router.Router
	batches *wire.Budget // of all writes under way
	metrics *metrics
	limits  Limits
	judged  func(readings, rejected int)
	now     func() time.Time
}

func (h *ingestHandler) addRoutes(o *operations) {
	o.raw(http.MethodPost, "/v1/streams/{stream}/readings", h.postReadings, &huma.Operation{
		OperationID: "write-readings", Summary: "Write readings", Tags: []string{"readings"},
		Description: "A JSON object or array, NDJSON, or CSV with a header; gzip and zstd are understood. " +
			"Every reading gets a verdict. Stored readings and duplicates are durable when the answer arrives; resending is harmless. " +
			"A reading whose id is stored with other values is rejected as a conflict, and the stored ones stay. " +
			"200 if none was rejected, 207 if some were, 422 if all were, 503 if all were and may be stored later.",
		Parameters: append([]*huma.Param{pathParam("stream", "the stream")},
			append(bodyFormatParam(), queryParams(
				"precision", "unit of numeric times: s, ms, us or ns; default ms",
				"timezone", "of times without a zone, as in Europe/Berlin; default UTC",
				"device", "of readings that name none",
				"columns", "CSV: names of the columns, if the body has no header",
				"time_column", "CSV: column with the time; default time, else timestamp",
				"device_column", "CSV: column with the device; default device",
				"id_column", "CSV: column with the id; default id",
				"types", "CSV: kinds of columns, as in serial:string,ok:boolean",
				"delimiter", "CSV: between columns; default a comma, tab for tabs",
			)...)...),
		RequestBody: &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{
			"application/json":     {Schema: o.schema(reflect.TypeFor[wire.SubmittedReading]())},
			"application/x-ndjson": {Schema: o.schema(reflect.TypeFor[wire.SubmittedReading]())},
			"text/csv":             {Schema: &huma.Schema{Type: huma.TypeString}},
		}},
		Responses: o.responses(reflect.TypeFor[wire.WriteAnswer](), "200", "207", "422", "503"),
	})
}

// postReadings serves POST /v1/streams/{stream}/readings.
func (h *ingestHandler) postReadings(w http.ResponseWriter, r *http.Request) {
	in := ingests.Get().(*ingest)
	defer in.release()
	in.h, in.soon = h, true
	in.batch.Share(h.batches)
	if err := in.writeBody(w, r); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) {
			err = varve.Errorf(varve.Invalid, "the body was cut off: what came before is counted here, send the rest again")
		}
		h.failWrite(w, r, err, &in.tally)
		return
	}
	in.answer(w)
}

// writeBody reads the body batch by batch and routes each. An error is about the
// whole body.
func (in *ingest) writeBody(w http.ResponseWriter, r *http.Request) (err error) {
	defaults, err := defaultsOf(r)
	if err != nil {
		return err
	}
	asked := r.URL.Query()
	format, err := bodyFormat(r, asked)
	if err != nil {
		return err
	}
	columns, err := wire.ParseColumns(asked)
	if err != nil {
		return err
	}
	grant := grantOf(r.Context())
	if wait := grant.Write(in.h.now()); wait > 0 {
		return tooFast("readings", wait)
	}
	req, err := in.h.router.Admit()
	if err != nil {
		return err
	}
	defer req.Done()
	turn := req.Turn()
	r.Body = yielding{r.Body, r.Context(), turn}
	body, err := openBody(w, r, in.h.limits)
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }() // the parsed readings stand, even if the rest fails
	reader, err := wire.NewReader(&in.mem, format, body, defaults, columns)
	if err != nil {
		return err
	}
	for large := r.ContentLength > smallBody; ; large = true {
		done, err := in.next(r.Context(), req, turn, reader, large)
		if done || err != nil {
			return err
		}
	}
}

// smallBody is the maximum size of a small body. A small request does not wait for large
// ones.
const smallBody = 32 << 10

// next reads the next batch of the body and routes it. done: it was the last.
func (in *ingest) next(ctx context.Context, req *router.Request, turn *router.Turn, body wire.Reader, large bool) (done bool, err error) {
	if err := turn.Begin(ctx, large); err != nil {
		return false, err
	}
	defer turn.End()
	in.batch.Reset()
	bodyErr := body.Read(&in.batch)
	if in.batch.Len() > 0 {
		if err := in.charge(grantOf(ctx)); err != nil {
			return false, err
		}
		if err := req.Write(ctx, in.batch.Readings, in.batch.Verdicts); err != nil {
			return false, err
		}
		in.countVerdicts()
	}
	if in.invalid > maxInvalid+in.tally.Total()/2 {
		return false, varve.Errorf(varve.Invalid, "most readings are invalid and the rest was not read: check the format; the first is %s: %s",
			in.first.Code, in.first.Message)
	}
	if errors.Is(bodyErr, io.EOF) {
		return true, nil
	}
	return false, bodyErr
}

// charge charges the batch to the key's rate. It fails only for the first batch of a body.
func (in *ingest) charge(grant *apikeys.Grant) error {
	if in.begun {
		grant.Readings(in.h.now(), in.batch.Len())
		return nil
	}
	in.begun = true
	if wait := grant.Begin(in.h.now(), in.batch.Len()); wait > 0 {
		return tooFast("readings", wait)
	}
	return nil
}

// countVerdicts counts the batch's verdicts and lists its rejections.
func (in *ingest) countVerdicts() {
	for i, v := range in.batch.Verdicts {
		in.tally.Count(v)
		if v.Outcome != varve.Rejected {
			continue
		}
		in.soon = in.soon && v.Code.Retryable()
		if !v.Code.Retryable() && v.Code != varve.CodeConflict {
			if in.invalid++; in.invalid == 1 {
				in.first = v
			}
		}
		if in.listed == maxRejects {
			continue
		}
		in.list(in.index+int64(i), in.batch.Lines[i], &v)
	}
	in.index += int64(in.batch.Len())
	in.h.judged(in.batch.Len(), in.h.metrics.verdicts(&in.batch))
}

// list adds a rejection to the answer.
func (in *ingest) list(index int64, line int, v *varve.Verdict) {
	if in.listed > 0 {
		in.rejects = append(in.rejects, ',')
	}
	in.listed++
	in.rejects = append(in.rejects, `{"index":`...)
	in.rejects = strconv.AppendInt(in.rejects, index, 10)
	if line > 0 {
		in.rejects = append(in.rejects, `,"line":`...)
		in.rejects = strconv.AppendInt(in.rejects, int64(line), 10)
	}
	in.rejects = append(in.rejects, `,"code":"`...)
	in.rejects = append(in.rejects, v.Code...)
	in.rejects = append(in.rejects, `","message":`...)
	in.rejects = wire.AppendString(in.rejects, v.Message)
	if v.Stored != "" && len(in.rejects) < maxRejectBytes {
		in.rejects = append(append(in.rejects, `,"stored":`...), v.Stored...)
	}
	in.rejects = append(in.rejects, '}')
}

// answer writes the verdicts: 200 if no reading was rejected, 207 if some were,
// 422 if all were, 503 if all were and may be stored later.
func (in *ingest) answer(w http.ResponseWriter) {
	status := http.StatusOK
	switch {
	case in.tally.Rejected == 0:
	case in.tally.Rejected < in.tally.Total():
		status = http.StatusMultiStatus
	case in.soon:
		status = http.StatusServiceUnavailable
		w.Header().Set("Retry-After", "1")
	default:
		status = http.StatusUnprocessableEntity
	}
	out := append(in.out, `{"stored":`...)
	out = strconv.AppendInt(out, in.tally.Stored, 10)
	out = append(out, `,"duplicates":`...)
	out = strconv.AppendInt(out, in.tally.Duplicates, 10)
	out = append(out, `,"rejected":`...)
	out = strconv.AppendInt(out, in.tally.Rejected, 10)
	out = append(out, `,"rejects":[`...)
	out = append(out, in.rejects...)
	out = append(out, ']')
	if int64(in.listed) < in.tally.Rejected {
		out = append(out, `,"truncated":true`...)
	}
	out = append(out, '}', '\n')
	in.out = out
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	writeBytes(w, out)
}
