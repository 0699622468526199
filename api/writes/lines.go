package writes

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

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/ingest"
	"github.com/varvedb/varve/internal/quote"
)

// Lines serves the routes to which clients of InfluxDB write line protocol.
type Lines struct {
	Options
	// Databases are the names of databases and buckets that clients may write to. If empty, any
	// name is accepted.
	Databases []string
}

// linePrecisions maps the names of units to precisions, for all three write routes.
var linePrecisions = map[string]wire.Precision{
	"": wire.Nanoseconds, "n": wire.Nanoseconds, "ns": wire.Nanoseconds, "nanosecond": wire.Nanoseconds,
	"u": wire.Microseconds, "us": wire.Microseconds, "µ": wire.Microseconds, "µs": wire.Microseconds, "microsecond": wire.Microseconds,
	"ms": wire.Milliseconds, "millisecond": wire.Milliseconds, "s": wire.Seconds, "second": wire.Seconds,
	"m": 60 * wire.Seconds, "h": 3600 * wire.Seconds, "auto": wire.LineAuto,
}

type lineOptions struct {
	precision wire.Precision
	whole     bool // if a line is invalid, no line is stored
}

func (h *Lines) options(r *http.Request, database string) (o lineOptions, err error) {
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

func (h *Lines) checkDatabase(asked url.Values, param string) error {
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

// Write serves a request with line protocol. The argument "database" is the parameter that names the
// database.
func (h *Lines) Write(w http.ResponseWriter, r *http.Request, database string) {
	o, err := h.options(r, database)
	if err != nil {
		h.Fail(w, r, err, nil)
		return
	}
	session, err := h.Ingester.Begin(h.Grant(r))
	if err != nil {
		h.Fail(w, r, err, nil)
		return
	}
	defer session.Close()
	var rejected lineRejects
	if err := h.readLines(r, session, o, &rejected); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) {
			err = varve.Errorf(varve.Invalid, "the body was cut off: send all lines again")
		}
		h.Fail(w, r, err, nil)
		return
	}
	rejected.answer(w, r, session)
}

// readLines stores the lines of the body, and adds the rejected lines to the argument "rejected". An error
// means that the rest of the body was not stored.
func (h *Lines) readLines(r *http.Request, session *ingest.Session, o lineOptions, rejected *lineRejects) error {
	r.Body = session.Body(r.Context(), r.Body)
	if isEmpty, err := peekBody(r); isEmpty || err != nil {
		return err
	}
	body, err := OpenBody(r, h.MaxBody)
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }() // stored lines stay stored, even if this fails
	arrived := h.Now()
	source := &ingest.Source{
		Format: wire.Line, Body: body, Large: r.ContentLength > ingest.SmallBody, Rejected: rejected.add,
		Defaults: wire.Defaults{
			Tenant: h.Grant(r).Tenant, Time: wire.TimeFormat{Precision: o.precision}, Lines: h.Options.Lines,
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

// maxWhole is the maximum length in bytes of a body whose lines are all checked before any is stored.
const maxWhole = 32 << 20

// checkWhole checks all lines of a body before any is stored. It reads source.Body, and replaces it with
// a copy in memory.
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

// peekBody reports whether a body with a Content-Encoding is empty. Some clients send this header with
// empty bodies, which are not valid gzip.
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
