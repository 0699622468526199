package varve

import "fmt"

// Outcome is the result for a submitted reading.
type Outcome uint8

// The three outcomes. The zero Outcome means that the reading is undecided.
const (
	// Stored means that the reading is durable.
	Stored Outcome = iota + 1
	// Duplicate means that the same reading with the same values was durable already.
	Duplicate
	// Rejected means that the reading is not stored. The verdict has the reason.
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

// Code is the machine-readable reason of a rejection.
type Code string

// The codes of a rejection.
const (
	CodeTimeMissing   Code = "time_missing"    // no time was sent
	CodeTimeInvalid   Code = "time_invalid"    // the time cannot be parsed
	CodeTimeUnit      Code = "time_unit"       // the time appears to be in another unit
	CodeTimeInFuture  Code = "time_in_future"  // later than the policy allows
	CodeTimeTooOld    Code = "time_too_old"    // before 1970, or a default of the device's clock
	CodeStreamInvalid Code = "stream_invalid"  // tenant or stream name
	CodeDeviceInvalid Code = "device_invalid"  // device name
	CodeIDInvalid     Code = "id_invalid"      // the client's id
	CodeFieldInvalid  Code = "field_invalid"   // a field's name, value or number
	CodeTooLarge      Code = "too_large"       // over MaxReadingBytes
	CodeTooManyFields Code = "too_many_fields" // more distinct fields than a series may have
	CodeMalformed     Code = "malformed"       // not a reading at all
	CodeConflict      Code = "conflict"        // its id is stored with other values
	CodeUnavailable   Code = "unavailable"     // temporary: retry
	CodeDamaged       Code = "damaged"         // its row is damaged, or damage hides whether it is a duplicate
)

// Retryable reports whether a retry of the same reading may be stored.
func (c Code) Retryable() bool { return c == CodeUnavailable }

// Verdict is the result for one submitted reading.
type Verdict struct {
	Outcome Outcome
	Code    Code   // of a rejection
	Message string // of a rejection; human-readable
	// Stored is a JSON object of the stored fields. It is empty unless the verdict is a conflict
	// and the object has at most 1 KiB.
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

// Tally counts verdicts by outcome.
type Tally struct {
	Stored     int64 `json:"stored"`
	Duplicates int64 `json:"duplicates"`
	Rejected   int64 `json:"rejected"`
}

// Count adds one verdict to the tally.
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

// Add adds the counts of another tally.
func (t *Tally) Add(u Tally) {
	t.Stored += u.Stored
	t.Duplicates += u.Duplicates
	t.Rejected += u.Rejected
}

// Total returns the number of counted verdicts.
func (t *Tally) Total() int64 { return t.Stored + t.Duplicates + t.Rejected }
