package api

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-faster/jx"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/api/writes"
	"github.com/varvedb/varve/ingest/records"
	"github.com/varvedb/varve/internal/quote"
)

// AWS configures the routes for services of AWS. With the zero AWS, they do not exist.
type AWS struct {
	Firehose bool
	// IoTAccounts are the AWS accounts whose HTTP destinations of IoT Core the server confirms. If empty,
	// the routes for IoT Core do not exist.
	IoTAccounts []string
	// Client sends the requests that confirm HTTP destinations of IoT Core. If nil, the server makes one.
	Client *http.Client
}

const (
	firehosePath = "/v1/aws/firehose"
	// maxFirehose is the maximum size of a request before compression, as AWS documents it.
	maxFirehose = 64 << 20
	// maxFirehosePart is the number of bytes of records that are read before these records are stored.
	maxFirehosePart = 4 << 20
	// maxFirehoseError is the maximum length of an error message, as AWS documents it.
	maxFirehoseError = 8192
	// maxFirehoseName is the maximum length of an ARN and of the id of a request. Each record has both.
	maxFirehoseName = 512
	// firehoseRecordBytes is the assumed memory of a record, without its data and the text that names it.
	firehoseRecordBytes = 100
	// firehoseVersion is the only version of the protocol that AWS documents.
	firehoseVersion = "1.0"
)

// firehoseHandler is the HTTP endpoint of Amazon Data Firehose for readings. Firehose sends the API key
// as its access key.
type firehoseHandler struct {
	*responder
	receiver *records.Receiver
	limits   Limits
	now      func() time.Time
	enabled  bool
}

func (h *firehoseHandler) addRoutes(o *operations) {
	if !h.enabled {
		return
	}
	body := o.schema(reflect.TypeFor[wire.FirehoseBody]())
	answer := map[string]*huma.MediaType{"application/json": {Schema: o.schema(reflect.TypeFor[wire.FirehoseAnswer]())}}
	o.raw(http.MethodPost, firehosePath, h.deliver, &huma.Operation{
		OperationID: "write-firehose", Summary: "Write records of Amazon Data Firehose", Tags: []string{"AWS"},
		Description: "The delivery to an HTTP endpoint. Records are readings in JSON, NDJSON or line protocol; gzip is understood. " +
			"The parameters are also read from the common attributes. The API key is the access key. " +
			"200 if each reading is durable, or is stored as a reject. Firehose retries after any other answer, except 413.",
		Parameters: queryParams("stream", "the stream; line protocol needs none", "format", "json, ndjson or line; default json",
			"precision", "unit of numeric times: s, ms, us or ns; default ms, in line protocol ns",
			"timezone", "of times without a zone, as in Europe/Berlin; default UTC",
			"dst", "local times that occur twice or never: earlier or later; by default they are rejected",
			"device", "of readings that name none",
			"time", "arrival: readings without a time happened when Firehose sent them; default required",
			"fields", "JSON: flat: all members but device, time, id and stream are fields, and objects are JSON values, also one named fields; default nested"),
		RequestBody: &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{"application/json": {Schema: body}}},
		Responses: map[string]*huma.Response{
			"200":     {Description: "All records are durable", Content: answer},
			"default": {Description: "An error in the form of Firehose", Content: answer},
		},
	})
}

func (h *firehoseHandler) deliver(w http.ResponseWriter, r *http.Request) {
	d := &firehoseRequest{firehoseHandler: h, r: r, id: r.Header.Get("X-Amz-Firehose-Request-Id"), at: h.now()}
	if err := d.read(); err != nil {
		h.fail(w, r, err)
		return
	}
	writeFirehose(w, http.StatusOK, wire.FirehoseAnswer{RequestID: d.id, Timestamp: h.now().UnixMilli()})
}

// firehoseRequest is a request of Firehose while its body is read.
type firehoseRequest struct {
	*firehoseHandler
	r     *http.Request
	id    string
	at    time.Time // timestamp in the request; if it has none, the time at which the server received the request
	parts *records.Delivery
	from  string // ARN of the Firehose stream; if the request has none, the id of the API key
	count int    // number of records read so far
	size  int    // approximate memory of the records in part, in bytes
	part  []records.Record
}

// read reads the body of the request, and stores its records.
func (d *firehoseRequest) read() error {
	if err := checkFirehoseVersion(d.r.Header); err != nil {
		return err
	}
	q, err := firehoseParams(d.r)
	if err != nil {
		return err
	}
	target, err := records.ParseTarget(tenantOf(d.r.Context()), q)
	if err != nil {
		return err
	}
	d.parts = d.receiver.Begin(grantOf(d.r.Context()), target)
	if d.from = d.r.Header.Get("X-Amz-Firehose-Source-Arn"); d.from == "" {
		d.from = grantOf(d.r.Context()).ID
	}
	if err := checkFirehoseName("header.X-Amz-Firehose-Source-Arn", d.from); err != nil {
		return err
	}
	if err := checkFirehoseName("header.X-Amz-Firehose-Request-Id", d.id); err != nil {
		return err
	}
	body, err := writes.OpenBody(d.r, min(d.limits.Body, maxFirehose))
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }() // stored readings are unaffected by an error here
	if err := d.decode(body); err != nil {
		return err
	}
	return d.store()
}

func (d *firehoseRequest) decode(body io.Reader) error {
	in := &failing{Reader: body}
	err := jx.Decode(in, 1<<16).ObjBytes(func(j *jx.Decoder, key []byte) error {
		switch string(key) {
		case "timestamp":
			ms, err := j.Int64()
			if err == nil {
				d.at = time.UnixMilli(ms)
			}
			return err
		case "requestId":
			id, err := j.Str()
			if d.id == "" {
				d.id = id
			}
			if err == nil {
				err = checkFirehoseName("body.requestId", id)
			}
			if err == nil && id != d.id {
				err = varve.InvalidParam("body.requestId", "not the id in the header X-Amz-Firehose-Request-Id: send the same one")
			}
			return err
		case "records":
			return j.Arr(d.record)
		}
		return j.Skip()
	})
	var e *varve.Error
	switch {
	case in.err != nil:
		return in.err
	case err == nil:
		return nil
	case errors.As(err, &e):
		return e // without the positions in the JSON that the decoder adds
	default:
		return varve.InvalidParam("body", "not a delivery of Amazon Data Firehose: %s", err)
	}
}

// failing is a reader that records the error of a failed read. The end of the body is not an error.
type failing struct {
	io.Reader
	err error
}

func (f *failing) Read(p []byte) (int, error) {
	n, err := f.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		f.err = err
	}
	return n, err
}

// record decodes a record and appends it to d.part. If the part then needs maxFirehosePart bytes or
// more, record stores the part.
func (d *firehoseRequest) record(j *jx.Decoder) error {
	var data []byte
	var reason error
	found := false
	err := j.ObjBytes(func(j *jx.Decoder, key []byte) error {
		if string(key) != "data" {
			return j.Skip()
		}
		found = true
		text, err := j.StrBytes()
		if err != nil {
			return err
		}
		data, reason = base64.StdEncoding.AppendDecode(nil, text)
		if reason != nil {
			data, reason = slices.Clone(text), fmt.Errorf("data: %w", reason)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if !found {
		return varve.InvalidParam("body.records", "a record has no data: send it in Base64")
	}
	from := d.from + " " + d.id + " " + strconv.Itoa(d.count)
	d.part = append(d.part, records.Record{Data: data, From: from, At: d.at, Err: reason})
	d.count++
	if d.size += firehoseRecordBytes + len(from) + len(data); d.size < maxFirehosePart {
		return nil
	}
	return d.store()
}

// store stores the records of d.part, and empties d.part.
func (d *firehoseRequest) store() error {
	_, err := d.parts.Store(d.r.Context(), d.part)
	d.part, d.size = d.part[:0], 0
	return err
}

// checkFirehoseName refuses an ARN, or the id of a request, of more than maxFirehoseName bytes.
func checkFirehoseName(param, name string) error {
	if len(name) > maxFirehoseName {
		return varve.InvalidParam(param, "has %d bytes: send at most %d", len(name), maxFirehoseName)
	}
	return nil
}

// checkFirehoseVersion refuses versions of the protocol whose requests may have another form. A request
// without a version is accepted.
func checkFirehoseVersion(h http.Header) error {
	const name = "X-Amz-Firehose-Protocol-Version"
	if v := h.Get(name); v != "" && v != firehoseVersion {
		return varve.InvalidParam("header."+name, "unknown version %.20q: use %s", v, firehoseVersion)
	}
	return nil
}

// firehoseParams returns the parameters of the address and of the common attributes. If both have a
// parameter, the value in the address applies.
func firehoseParams(r *http.Request) (url.Values, error) {
	q, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, varve.InvalidParam("query", "%s: check the address of the endpoint", err)
	}
	text := r.Header.Get("X-Amz-Firehose-Common-Attributes")
	if text == "" {
		return q, nil
	}
	d := jx.DecodeStr(text)
	err = d.Obj(func(d *jx.Decoder, key string) error {
		if key != "commonAttributes" {
			return d.Skip()
		}
		return d.Obj(func(d *jx.Decoder, name string) error {
			if d.Next() != jx.String {
				return d.Skip()
			}
			value, err := d.Str()
			isParam := name == "stream" || name == "format" || slices.Contains(records.Params, name)
			if err == nil && isParam && !q.Has(name) {
				q.Set(name, value)
			}
			return err
		})
	})
	if err != nil {
		return nil, varve.InvalidParam("header.X-Amz-Firehose-Common-Attributes", "not JSON: %s", err)
	}
	return q, nil
}

// firehoseKeyIn returns the API key of a request: the access key of Firehose. Without one, it returns
// the key in the headers that writes.KeyIn reads, because a proxy may add these headers.
func firehoseKeyIn(h http.Header) string {
	if keys := h["X-Amz-Firehose-Access-Key"]; len(keys) == 1 && keys[0] != "" {
		return keys[0]
	}
	return writes.KeyIn(h)
}

// failFirehose answers with an error in the form of Firehose. If Varve is busy or the body stalled, the
// status is 503.
func failFirehose(w http.ResponseWriter, r *http.Request, e *varve.Error) {
	status := statusOf(e)
	if e.Failure == varve.Busy || errors.Is(e.Err, writes.ErrStalled) {
		status = http.StatusServiceUnavailable
	}
	message := e.Message
	if e.Param != "" {
		message = e.Param + ": " + message
	}
	message = quote.Cut(message, maxFirehoseError)
	writeFirehose(w, status, wire.FirehoseAnswer{
		RequestID: r.Header.Get("X-Amz-Firehose-Request-Id"), Timestamp: time.Now().UnixMilli(), Error: message,
	})
}

// writeFirehose writes an answer with a Content-Length, because Firehose accepts no chunked answers.
func writeFirehose(w http.ResponseWriter, status int, a wire.FirehoseAnswer) {
	// The answer has texts and a number, and can always be marshaled.
	text, _ := wire.MarshalJSON(a)
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	w.WriteHeader(status)
	writeBytes(w, text)
}
