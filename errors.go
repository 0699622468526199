package varve

import (
	"errors"
	"fmt"
	"time"
)

// Failure is the kind of an [Error]. Callers choose their reaction by the kind.
type Failure uint8

// The kinds of failure. An error without a kind is a fault of Varve or of its store.
const (
	// Internal is a fault of Varve. A retry may succeed.
	Internal Failure = iota
	// Invalid is a wrong request. A retry fails, too.
	Invalid
	// Forbidden is a request that the API key is not allowed to make.
	Forbidden
	// NotFound is a request for an object that does not exist.
	NotFound
	// Conflict is a request that the current state of the object does not allow.
	Conflict
	// Busy is an overload. The caller retries after RetryAfter.
	Busy
	// Unavailable is a temporary problem that the request did not cause.
	Unavailable
	// Damaged is a request that needs damaged data. A retry fails until the data is repaired, or
	// until its loss is accepted.
	Damaged
	// Gone is a request for data that was dropped or was never recorded. A retry fails, too.
	Gone
)

// Error is a failure with a kind.
type Error struct {
	Failure    Failure
	Param      string        // the parameter at fault, if any; usually the failure is Invalid then
	Message    string        // the problem and its remedy
	RetryAfter time.Duration // for Busy and Unavailable, the time to wait before a retry
	Err        error         // the cause, if any
}

func (e *Error) Error() string {
	msg := e.Message
	if e.Param != "" {
		msg = e.Param + ": " + msg
	}
	if e.Err != nil {
		return msg + ": " + e.Err.Error()
	}
	return msg
}

func (e *Error) Unwrap() error { return e.Err }

// FailureOf returns the kind of the first Error in the chain of err, or Internal.
func FailureOf(err error) Failure {
	var e *Error
	if errors.As(err, &e) {
		return e.Failure
	}
	return Internal
}

// Errorf returns an Error of the given kind.
func Errorf(kind Failure, format string, args ...any) *Error {
	return &Error{Failure: kind, Message: fmt.Sprintf(format, args...)}
}

// InvalidParam returns an Invalid error for a parameter.
func InvalidParam(param, format string, args ...any) *Error {
	return &Error{Failure: Invalid, Param: param, Message: fmt.Sprintf(format, args...)}
}
