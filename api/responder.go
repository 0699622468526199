package api

import (
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/api/writes"
)

// responder answers failed requests, and reports the failures that are faults of the server.
type responder struct {
	report func(r *http.Request, err error)
}

// fail answers with a problem. On the paths of another protocol, the error has the form of that protocol.
func (a *responder) fail(w http.ResponseWriter, r *http.Request, err error) {
	a.failWrite(w, r, err, nil)
}

// failWrite answers as fail does. If tally is set, the problem has the counts of the readings
// before the error.
func (a *responder) failWrite(w http.ResponseWriter, r *http.Request, err error, tally *wire.Tally) {
	e := classify(err)
	status := statusOf(e)
	if status >= http.StatusInternalServerError {
		a.failed(r, err)
	}
	if r != nil && isInflux(r.URL.Path) {
		writes.FailLines(w, r, e, status)
		return
	}
	if r != nil && isPrometheus(r.URL.Path) {
		failPrometheus(w, err, e.Message, status)
		return
	}
	if r != nil && r.URL.Path == firehosePath {
		failFirehose(w, r, e)
		return
	}
	p := problemOf(err, e, status)
	p.Tally = tally
	if status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Bearer realm="varve"`)
	}
	if e.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(e.RetryAfter.Seconds()+0.999)))
	} else if e.Failure == varve.Busy || e.Failure == varve.Unavailable {
		w.Header().Set("Retry-After", "1")
	}
	// A Problem can always be marshaled.
	body, _ := wire.MarshalJSON(p)
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	writeBytes(w, append(body, '\n'))
}

// problemOf returns the body that describes an error. The arguments e and status are the classified
// error and its status.
func problemOf(err error, e *varve.Error, status int) wire.Problem {
	p := wire.Problem{Title: http.StatusText(status), Status: status, Detail: e.Message}
	var noDevice *wire.NoDeviceError
	switch {
	case e.Failure == varve.Damaged:
		p.Code = wire.CodeDamaged
	case errors.As(err, &noDevice):
		p.Code = wire.CodeNoDevice
	}
	if e.Param != "" {
		p.Errors = []wire.ProblemDetail{{Location: e.Param, Message: e.Message}}
		p.Detail = e.Param + ": " + e.Message
	}
	return p
}

// aboutErrorLine describes the answers of cutOff in the OpenAPI document.
const aboutErrorLine = "An answer that fails midway is cut off, and has no trailers. In NDJSON, a line with the member error, a problem, comes last. "

// cutOff reports an error that occurs after a part of the answer was sent, and ends the connection.
// Without the end of the body and without trailers, no client can mistake the part for the whole answer. An
// answer in NDJSON first gets a line with the error.
func (a *responder) cutOff(w http.ResponseWriter, r *http.Request, f wire.Format, err error) {
	a.failed(r, err)
	if f == wire.NDJSON && !clientGone(r, err) {
		e := classify(err)
		// A Problem can always be marshaled.
		line, _ := wire.MarshalJSON(wire.ErrorLine{Error: problemOf(err, e, statusOf(e))})
		writeBytes(w, append(line, '\n'))
		_ = http.NewResponseController(w).Flush() // the connection ends in any case
	}
	panic(http.ErrAbortHandler)
}

// failed reports an error, unless the request failed because of its client.
func (a *responder) failed(r *http.Request, err error) {
	if !clientGone(r, err) {
		a.report(r, err)
	}
}

// problem converts an error to an error of huma, and reports a fault of the server.
func (a *responder) problem(err error) error {
	e := classify(err)
	status := statusOf(e)
	var details []error
	if e.Param != "" {
		details = append(details, &huma.ErrorDetail{Location: e.Param, Message: e.Message})
	}
	if status >= http.StatusInternalServerError {
		a.failed(nil, err)
	}
	return huma.NewError(status, e.Message, details...)
}

// reply is an answer as huma expects it: a struct with the body in the field Body.
type reply[T any] struct{ Body T }

// orNull returns a time for JSON; the zero time is null.
func orNull(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// serveJSON returns a handler that answers with the result of the function "do" as JSON, or with a problem.
func serveJSON[T any](a *responder, do func(*http.Request) (T, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := do(r)
		if err == nil {
			err = writeJSON(w, body)
		}
		if err != nil {
			a.fail(w, r, err)
		}
	}
}

func writeJSON(w http.ResponseWriter, v any) error {
	body, err := wire.MarshalJSON(v)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	writeBytes(w, append(body, '\n'))
	return nil
}

// writeBytes writes a part of an answer. It ignores errors: a client that disconnected
// needs no answer.
func writeBytes(w http.ResponseWriter, p []byte) { _, _ = w.Write(p) }
