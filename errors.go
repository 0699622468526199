package varve

import (
	"errors"
	"fmt"
	"time"
)

// Failure is the kind of an [Error]: what a caller can do about it.
type Failure uint8

// The kinds of failure. Errors of no kind are faults of Varve or its store.
const (
	// Internal: a fault here; trying again may help.
	Internal Failure = iota
	// Invalid: the request is wrong, and will be when it is sent again.
	Invalid
	// Forbidden: who asks may not; another API key may.
	Forbidden
	// NotFound: the thing named is not there.
	NotFound
	// Conflict: the thing is not in a state that allows this.
	Conflict
	// Busy: too much at once; try again after RetryAfter.
	Busy
	// Unavailable: not now, for a reason outside the request.
	Unavailable
	// Damaged: data on disk is damaged; trying again does not help.
	Damaged
)

// Error is a failure with a kind.
type Error struct {
	Failure    Failure
	Param      string        // the parameter at fault, for Invalid
	Message    string        // what is wrong and what would be right
	RetryAfter time.Duration // for Busy and Unavailable
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

// FailureOf returns the kind of the first Error that err wraps, else Internal.
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

// InvalidParam returns an Invalid error about a parameter.
func InvalidParam(param, format string, args ...any) *Error {
	return &Error{Failure: Invalid, Param: param, Message: fmt.Sprintf(format, args...)}
}
