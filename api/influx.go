package api

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/health"
	"github.com/varvedb/varve/ingest"
	"github.com/varvedb/varve/internal/quote"
	"github.com/varvedb/varve/rotator"
)

// Influx configures the routes of InfluxDB's clients. The zero Influx accepts all databases.
type Influx struct {
	Disabled bool
	// Lines assigns the tags of line protocol to readings. If nil, the default mapping applies.
	Lines *wire.LineMapping
	// Databases are the names of databases and buckets that clients may write to. If empty, any
	// name is accepted.
	Databases []string
}

// influxHandler serves the routes that clients of InfluxDB 1, 2 and 3 use for writes. Readings go
// to the tenant of the API key.
type influxHandler struct {
	*responder
	Influx
	ingester   *ingest.Ingester
	limits     Limits
	rotator    *rotator.Rotator
	conditions *health.Conditions
	now        func() time.Time
	started    time.Time
	version    string
}

// influxWrite is the pattern of a route that writes line protocol, with its parameters.
type influxWrite struct{ pattern, database, id, about string }

var influxWrites = []influxWrite{
	{"/write", "db", "write-influx-v1", "InfluxDB 1"},
	{"/api/v2/write", "bucket", "write-influx-v2", "InfluxDB 2"},
	{"/api/v3/write_lp", "db", "write-influx-v3", "InfluxDB 3"},
}

// influxPaths has the paths of InfluxDB's API. On these paths, errors have InfluxDB's form.
var influxPaths = []string{"/write", "/api/v2/write", "/api/v3/write_lp", "/query", "/ping", "/health", "/ready", "/api/v2/ready"}

func isInflux(path string) bool { return slices.Contains(influxPaths, path) }

func (h *influxHandler) addRoutes(o *operations) {
	if h.Disabled {
		return
	}
	for _, route := range influxWrites {
		o.raw(http.MethodPost, route.pattern, func(w http.ResponseWriter, r *http.Request) { h.write(w, r, route.database) }, &huma.Operation{
			OperationID: route.id, Summary: "Write line protocol as to " + route.about, Tags: []string{"line protocol"},
			Description: "Lines of InfluxDB's line protocol; gzip and zstd are understood. The measurement is the stream, and a tag is the device. " +
				"204 if no line was rejected. 400 with the rejected lines if some were; the others are stored. 503 if the client shall send all lines again.",
			Parameters: queryParams(route.database, "the database; any name, unless influx.databases lists names",
				"precision", "unit of times: ns, us, ms, s, m, h or auto; default ns, for InfluxDB 3 auto"),
			RequestBody: &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{"text/plain": {Schema: &huma.Schema{Type: huma.TypeString}}}},
			Responses: map[string]*huma.Response{
				"204":     {Description: "All lines are durable"},
				"default": {Description: "An error in the form of InfluxDB", Content: map[string]*huma.MediaType{"application/json": {Schema: &huma.Schema{Type: huma.TypeObject}}}},
			},
		})
	}
	for _, pattern := range []string{"GET /query", "POST /query"} {
		o.mux.HandleFunc(pattern, h.query)
	}
	o.mux.HandleFunc("GET /ping", h.ping)
	o.mux.HandleFunc("GET /health", h.health)
	for _, pattern := range []string{"GET /ready", "GET /api/v2/ready"} {
		o.mux.HandleFunc(pattern, h.ready)
	}
}

// linePrecisions maps the names of units to precisions, for all three write routes.
var linePrecisions = map[string]wire.Precision{
	"": wire.Nanoseconds, "n": wire.Nanoseconds, "ns": wire.Nanoseconds, "nanosecond": wire.Nanoseconds,
	"u": wire.Microseconds, "us": wire.Microseconds, "µ": wire.Microseconds, "µs": wire.Microseconds, "microsecond": wire.Microseconds,
	"ms": wire.Milliseconds, "millisecond": wire.Milliseconds, "s": wire.Seconds, "second": wire.Seconds,
	"m": 60 * wire.Seconds, "h": 3600 * wire.Seconds, "auto": wire.LineAuto,
}

// lineOptions are the parameters of a write of line protocol.
type lineOptions struct {
	precision wire.Precision
	whole     bool // nothing is stored if a line is invalid
}

func (h *influxHandler) options(r *http.Request, database string) (o lineOptions, err error) {
	asked := r.URL.Query()
	if err := h.checkDatabase(asked, database); err != nil {
		return o, err
	}
	text := asked.Get("precision")
	if text == "" && r.URL.Path == "/api/v3/write_lp" {
		text = "auto"
	}
	precision, ok := linePrecisions[text]
	if !ok {
		return o, varve.InvalidParam("precision", "%s is unknown: use ns, us, ms, s, m, h or auto", quote.Text(text))
	}
	o.precision = precision
	switch partial := asked.Get("accept_partial"); partial {
	case "", "true":
	case "false":
		o.whole = true
	default:
		return o, varve.InvalidParam("accept_partial", "%s is unknown: use true or false", quote.Text(partial))
	}
	return o, nil
}

func (h *influxHandler) checkDatabase(asked url.Values, param string) error {
	name := asked.Get(param)
	if name == "" {
		what := map[string]string{"db": "database", "bucket": "bucket"}[param]
		return varve.Errorf(varve.Invalid, "%s is required: add the parameter %s with any name", what, param)
	}
	// Older clients name a database and a retention policy as the bucket, as in db/rp.
	database, _, _ := strings.Cut(name, "/")
	if len(h.Databases) == 0 || slices.Contains(h.Databases, name) || slices.Contains(h.Databases, database) {
		return nil
	}
	return &varve.Error{Failure: varve.NotFound, Message: "database not found: " + quote.Text(name) + ": the setting influx.databases has the names that are accepted"}
}

// write serves a request with line protocol.
func (h *influxHandler) write(w http.ResponseWriter, r *http.Request, database string) {
	o, err := h.options(r, database)
	if err != nil {
		h.fail(w, r, err)
		return
	}
	session, err := h.ingester.Begin(grantOf(r.Context()))
	if err != nil {
		h.fail(w, r, err)
		return
	}
	defer session.Close()
	var rejected lineRejects
	if err := h.readLines(w, r, session, o, &rejected); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) {
			err = varve.Errorf(varve.Invalid, "the body was cut off: send all lines again")
		}
		h.fail(w, r, err)
		return
	}
	rejected.answer(w, r, session)
}

// readLines stores the lines of the body, and adds the rejected ones to the argument rejected. An
// error is about the whole body.
func (h *influxHandler) readLines(w http.ResponseWriter, r *http.Request, session *ingest.Session, o lineOptions, rejected *lineRejects) error {
	r.Body = session.Body(r.Context(), r.Body)
	if isEmpty, err := peekBody(r); isEmpty || err != nil {
		return err
	}
	body, err := openBody(w, r, h.limits)
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }() // stored lines stay stored, even if this fails
	arrived := h.now()
	source := &ingest.Source{
		Format: wire.Line, Body: body, Large: r.ContentLength > ingest.SmallBody, Rejected: rejected.add,
		Defaults: wire.Defaults{
			Tenant: tenantOf(r.Context()), Time: wire.TimeFormat{Precision: o.precision}, Lines: h.Lines,
			Now: func() time.Time { return arrived },
		},
	}
	if o.whole {
		if err := checkWhole(r.Context(), session, source); err != nil || len(rejected.list) > 0 {
			rejected.whole = true
			return err
		}
	}
	return session.Read(r.Context(), source)
}

// maxWhole limits a body whose lines are all checked before any is stored.
const maxWhole = 32 << 20

// checkWhole checks all lines of a body before any is stored, and replaces the body by a copy.
func checkWhole(ctx context.Context, session *ingest.Session, source *ingest.Source) error {
	text, err := io.ReadAll(io.LimitReader(source.Body, maxWhole+1))
	if err != nil {
		return err
	}
	if len(text) > maxWhole {
		return &http.MaxBytesError{Limit: maxWhole}
	}
	source.Body = bytes.NewReader(text)
	_, err = session.Check(ctx, source)
	source.Body = bytes.NewReader(text)
	return err
}

// peekBody reports whether a body with a Content-Encoding is empty. Some clients send it with empty
// bodies, which are not valid gzip.
func peekBody(r *http.Request) (isEmpty bool, err error) {
	if r.Header.Get("Content-Encoding") == "" {
		return false, nil
	}
	buffered := bufio.NewReader(r.Body)
	if _, err := buffered.Peek(1); errors.Is(err, io.EOF) {
		return true, nil
	} else if err != nil {
		return false, err
	}
	r.Body = struct {
		io.Reader
		io.Closer
	}{buffered, r.Body}
	return false, nil
}
