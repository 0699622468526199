package varve

import "fmt"

// Outcome is the result of submitting a reading.
type Outcome uint8

// The outcomes. The zero Outcome means that the reading is undecided.
const (
	// Stored means that the reading is durable.
	Stored Outcome = iota + 1
	// Duplicate means that a reading with the same identity and values was already durable.
	Duplicate
	// Rejected means that the reading is not stored. The verdict has the reason.
	Rejected
	// Queued means that an agent stored the reading on its own disk, and will send it to a server.
	// The server decides on the reading later. A server never returns this outcome.
	Queued
)

func (o Outcome) String() string {
	switch o {
	case Stored:
		return "stored"
	case Duplicate:
		return "duplicate"
	case Rejected:
		return "rejected"
	case Queued:
		return "queued"
	default:
		return "undecided"
	}
}

// Code is a machine-readable reason for a rejection.
type Code string

// The codes of rejections.
const (
	CodeTimeMissing    Code = "time_missing"    // no time was sent
	CodeTimeInvalid    Code = "time_invalid"    // the time cannot be parsed
	CodeTimeUnit       Code = "time_unit"       // the time appears to be in another unit
	CodeTimeInFuture   Code = "time_in_future"  // the time is later than the policy allows
	CodeTimeTooOld     Code = "time_too_old"    // the time is before 1970, or a numeric time is before 1973, as from a clock that was never set
	CodeStreamInvalid  Code = "stream_invalid"  // the name of the tenant or stream is invalid
	CodeDeviceInvalid  Code = "device_invalid"  // the name of the device is invalid
	CodeIDInvalid      Code = "id_invalid"      // the id that the client sent is invalid
	CodeVersionInvalid Code = "version_invalid" // the version is not a number, or the id is missing
	CodeFieldInvalid   Code = "field_invalid"   // a field's name or value is invalid
	CodeTooLarge       Code = "too_large"       // the reading is larger than MaxReadingBytes
	CodeTooManyFields  Code = "too_many_fields" // the series would have more distinct fields than allowed
	CodeMalformed      Code = "malformed"       // the text is not a reading
	CodeConflict       Code = "conflict"        // the same identity is stored with other values
	CodeQuarantined    Code = "quarantined"     // the time is unacceptable, and the reading is stored as a reject
	CodeUnavailable    Code = "unavailable"     // the failure is temporary: the client can retry
	CodeDamaged        Code = "damaged"         // the row for the reading is damaged, or damaged data may contain a duplicate of the reading
)

// Retryable reports whether the same reading may be stored if it is resent.
func (c Code) Retryable() bool { return c == CodeUnavailable }

// Verdict is the result for one submitted reading.
type Verdict struct {
	Outcome Outcome
	Code    Code   // reason of a rejection
	Message string // human-readable reason of a rejection
	// Stored has the fields that are stored under the same identity, as a JSON object. It is set
	// only for a conflict, and only if the object has at most 1 KiB.
	Stored string
}

// Reject returns a verdict that rejects a reading.
func Reject(code Code, format string, args ...any) Verdict {
	return Verdict{Outcome: Rejected, Code: code, Message: fmt.Sprintf(format, args...)}
}

// HasStored reports whether a reading with this identity is stored. After a conflict, that is a
// reading with other values. The verdict must have an outcome.
func (v *Verdict) HasStored() bool {
	return v.Outcome != Rejected && v.Outcome != Queued || v.Code == CodeConflict
}

func (v Verdict) String() string {
	if v.Outcome != Rejected {
		return v.Outcome.String()
	}
	return fmt.Sprintf("rejected(%s: %s)", v.Code, v.Message)
}
