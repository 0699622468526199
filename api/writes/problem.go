package writes

import (
	"errors"
	"net/http"
	"os"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/wire"
)

// Errors in varve.Error.Err. The HTTP status of such an error does not follow from its failure.
var (
	ErrTooLarge    = errors.New("body too large")
	ErrUnsupported = errors.New("unsupported body")
	ErrStalled     = errors.New("body stalled")
)

// BodyProblem returns the error for the client if err means that a body could not be read, and otherwise
// nil.
func BodyProblem(err error) *varve.Error {
	var body *wire.BodyError
	var long *http.MaxBytesError
	switch {
	case errors.As(err, &long):
		return &varve.Error{Failure: varve.Invalid, Message: tooLarge(long.Limit).Error(), Err: ErrTooLarge}
	case errors.Is(err, os.ErrDeadlineExceeded):
		return &varve.Error{Failure: varve.Invalid, Err: ErrStalled,
			Message: "the body stalled, or took too long, and was given up on: what came before is counted here, send the rest again"}
	case errors.As(err, &body):
		return &varve.Error{Failure: varve.Invalid, Message: body.Message}
	}
	return nil
}

// StatusOf returns the HTTP status of an error.
func StatusOf(e *varve.Error) int {
	switch {
	case errors.Is(e.Err, ErrTooLarge):
		return http.StatusRequestEntityTooLarge
	case errors.Is(e.Err, ErrUnsupported):
		return http.StatusUnsupportedMediaType
	case errors.Is(e.Err, ErrStalled):
		return http.StatusRequestTimeout
	}
	return wire.StatusOf(e.Failure)
}

// Unsupported returns the error for a header field with an unsupported value, such as an unknown
// Content-Type. Its HTTP status is 415.
func Unsupported(field, format string, args ...any) error {
	e := varve.InvalidParam("header."+field, format, args...)
	e.Err = ErrUnsupported
	return e
}
