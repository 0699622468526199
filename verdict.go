package varve

import "fmt"

// Outcome is what became of a submitted reading.
type Outcome uint8

// The three outcomes. The zero Outcome is "not decided yet".
const (
	// Stored: it is kept, durably.
	Stored Outcome = iota + 1
	// Duplicate: the same reading was there already, durably, with the same values.
	Duplicate
	// Rejected: it is not kept; the verdict says why.
	Rejected
)

func (o Outcome) String() string {
	switch o {
	case Stored:
		return "stored"
	case Duplicate:
		return "duplicate"
	case Rejected:
		return "rejected"
	default:
		return "undecided"
	}
}

// Code says why a reading was rejected, in one word for machines.
type Code string

// The codes of a rejection.
const (
	CodeTimeMissing   Code = "time_missing"    // no time was sent
	CodeTimeInvalid   Code = "time_invalid"    // the time cannot be read
	CodeTimeUnit      Code = "time_unit"       // the time looks like another unit
	CodeTimeInFuture  Code = "time_in_future"  // further ahead than the policy allows
	CodeTimeTooOld    Code = "time_too_old"    // before 1970, or not a measured time
	CodeStreamInvalid Code = "stream_invalid"  // tenant or stream name
	CodeDeviceInvalid Code = "device_invalid"  // device name
	CodeIDInvalid     Code = "id_invalid"      // the client's id
	CodeFieldInvalid  Code = "field_invalid"   // a field's name, value or number
	CodeTooLarge      Code = "too_large"       // over MaxReadingBytes
	CodeTooManyFields Code = "too_many_fields" // more different fields than a series may have
	CodeMalformed     Code = "malformed"       // not a reading at all
	CodeConflict      Code = "conflict"        // its id is stored with other values
	CodeUnavailable   Code = "unavailable"     // not stored for now: send it again
	CodeDamaged       Code = "damaged"         // its row is damaged, or damage hides whether it is a duplicate
)

// Retryable reports whether the same reading may be stored when it is sent
// again.
func (c Code) Retryable() bool { return c == CodeUnavailable }

// Verdict is what became of one submitted reading.
type Verdict struct {
	Outcome Outcome
	Code    Code   // of a rejection
	Message string // of a rejection, for people
	// Stored is the fields that are stored, as a JSON object. If empty, the
	// verdict is not a conflict, or the object is longer than 1 KiB.
	Stored string
}

// Reject returns a rejecting verdict.
func Reject(code Code, format string, args ...any) Verdict {
	return Verdict{Outcome: Rejected, Code: code, Message: fmt.Sprintf(format, args...)}
}

// HasStored reports whether a reading of the same identity is stored: this one, or
// the other one of a conflict.
func (v *Verdict) HasStored() bool {
	return v.Outcome != Rejected || v.Code == CodeConflict
}

func (v Verdict) String() string {
	if v.Outcome != Rejected {
		return v.Outcome.String()
	}
	return fmt.Sprintf("rejected(%s: %s)", v.Code, v.Message)
}

// Tally counts verdicts.
type Tally struct {
	Stored     int64 `json:"stored"`
	Duplicates int64 `json:"duplicates"`
	Rejected   int64 `json:"rejected"`
}

// Count adds one verdict.
func (t *Tally) Count(v Verdict) {
	switch v.Outcome {
	case Stored:
		t.Stored++
	case Duplicate:
		t.Duplicates++
	default:
		t.Rejected++
	}
}

// Add adds another tally.
func (t *Tally) Add(u Tally) {
	t.Stored += u.Stored
	t.Duplicates += u.Duplicates
	t.Rejected += u.Rejected
}

// Total is the number of verdicts counted.
func (t *Tally) Total() int64 { return t.Stored + t.Duplicates + t.Rejected }
