package api

import (
	"context"
	"errors"
	"net/http"
	"syscall"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/writes"
	"github.com/varvedb/varve/lease"
	"github.com/varvedb/varve/prometheus"
	"github.com/varvedb/varve/rotator"
	"github.com/varvedb/varve/store"
)

// classify converts an error to a varve.Error. For an error that is not a varve.Error, it chooses the
// failure.
func classify(err error) *varve.Error {
	var e *varve.Error
	var prom *prometheus.Error
	if body := writes.BodyProblem(err); body != nil {
		return body
	}
	switch {
	case errors.As(err, &prom) && prom.Kind != prometheus.Internal:
		return &varve.Error{Failure: varve.Invalid, Message: err.Error()} // failPrometheus chooses the status of the answer
	case errors.As(err, &e):
		if e == err { //nolint:errorlint // the error itself, not one that it wraps
			return e
		}
		return &varve.Error{Failure: e.Failure, Param: e.Param, Message: err.Error(), RetryAfter: e.RetryAfter}
	case errors.Is(err, store.ErrNoTable):
		return &varve.Error{Failure: varve.NotFound, Message: err.Error()}
	case errors.Is(err, store.ErrRefused), errors.Is(err, store.ErrForeign), errors.Is(err, lease.ErrHeld), errors.Is(err, lease.ErrLost), errors.Is(err, rotator.ErrOtherPlan):
		return &varve.Error{Failure: varve.Conflict, Message: err.Error()}
	case errors.Is(err, store.ErrClosed), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return &varve.Error{Failure: varve.Unavailable, Message: err.Error()}
	default:
		return &varve.Error{Failure: varve.Internal, Message: err.Error()}
	}
}

// withParam returns a copy of an error with another parameter. Several requests may share the error.
func withParam(e *varve.Error, param string) *varve.Error {
	other := *e
	other.Param = param
	return &other
}

// Errors in varve.Error.Err. The HTTP status of such an error does not follow from its failure.
var (
	errMethod = errors.New("method not allowed")
	errNoKey  = errors.New("no valid key")
)

func statusOf(e *varve.Error) int {
	switch {
	case errors.Is(e.Err, errMethod):
		return http.StatusMethodNotAllowed
	case errors.Is(e.Err, errNoKey):
		return http.StatusUnauthorized
	}
	return writes.StatusOf(e)
}

// errNotTaken marks an answer that the client did not read to its end.
var errNotTaken = errors.New("the client did not take the answer")

// clientGone reports whether a request failed because its client disconnected, or did not read the
// answer.
func clientGone(r *http.Request, err error) bool {
	if r != nil && errors.Is(r.Context().Err(), context.Canceled) {
		return true
	}
	for _, gone := range []error{errNotTaken, context.Canceled, syscall.ECONNRESET, syscall.EPIPE} {
		if errors.Is(err, gone) {
			return true
		}
	}
	return false
}
