package wire

import (
	"net/http"

	"github.com/varvedb/varve"
)

// Problem is the body of the answer to a failed request (RFC 9457).
type Problem struct {
	Title  string          `json:"title"`
	Status int             `json:"status"`
	Detail string          `json:"detail"`
	Code   string          `json:"code,omitempty"` // CodeDamaged, CodeNoDevice, or empty
	Errors []ProblemDetail `json:"errors,omitempty"`
	// Unrecorded lists files of an archive that no record names, if its verification failed.
	Unrecorded []UnrecordedFile `json:"unrecorded,omitempty"`
	// Tally counts the verdicts before a write failed.
	*Tally
}

// ErrorLine is the last line of an answer in NDJSON that failed after its first lines had been sent. The
// server cuts the answer off after the line.
type ErrorLine struct {
	Error Problem `json:"error"`
}

// ErrorLinePrefix is the beginning of an ErrorLine in JSON. No reading begins with it.
const ErrorLinePrefix = `{"error":`

// ProblemDetail names the parameter that caused a problem.
type ProblemDetail struct {
	Location string `json:"location"` // name of the parameter, as in query.limit
	Message  string `json:"message"`
}

// statuses maps failures to HTTP statuses. FailureOfStatus maps a status to the failure.
var statuses = map[varve.Failure]int{
	varve.Internal:    http.StatusInternalServerError,
	varve.Invalid:     http.StatusBadRequest,
	varve.Forbidden:   http.StatusForbidden,
	varve.NotFound:    http.StatusNotFound,
	varve.Conflict:    http.StatusConflict,
	varve.Gone:        http.StatusGone,
	varve.Busy:        http.StatusTooManyRequests,
	varve.Unavailable: http.StatusServiceUnavailable,
}

// CodeDamaged is the code of a problem that damaged data causes.
const CodeDamaged = "damaged"

// CodeNoDevice is the code of a problem that a missing device causes.
const CodeNoDevice = "device_not_found"

// NoDeviceError is the error of a device that does not exist. A client returns it only for an answer with
// CodeNoDevice. So a proxy that answers 404 does not make a device seem missing.
type NoDeviceError struct{ Err *varve.Error }

func (e *NoDeviceError) Error() string { return e.Err.Error() }

// Unwrap returns an error with the failure NotFound.
func (e *NoDeviceError) Unwrap() error { return e.Err }

// StatusOf returns the HTTP status of a failure.
func StatusOf(f varve.Failure) int {
	if f == varve.Damaged {
		return http.StatusInternalServerError
	}
	return statuses[f]
}

// FailureOfStatus returns the failure that an HTTP status reports.
func FailureOfStatus(status int) varve.Failure {
	switch status {
	case http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity,
		http.StatusUnsupportedMediaType, http.StatusMethodNotAllowed:
		return varve.Invalid
	case http.StatusUnauthorized:
		return varve.Forbidden
	case http.StatusRequestTimeout:
		return varve.Unavailable
	}
	for kind, s := range statuses {
		if s == status {
			return kind
		}
	}
	return varve.Internal
}
