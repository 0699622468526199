package varve

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/varvedb/varve/decimal"
	"github.com/varvedb/varve/internal/printable"
	"github.com/varvedb/varve/internal/quote"
)

// Limits of a reading.
const (
	MaxFields       = 256       // maximum number of fields
	MaxReadingBytes = 64 << 10  // maximum bytes of the id, the field names and the values
	MaxTime         = 1<<63 - 1 // exclusive limit of event times, in nanoseconds since 1970; it is in the year 2262
)

// Series identifies the readings of one device in one stream of one tenant. It is the unit of
// order: a query reads one series.
type Series struct {
	Tenant string
	Stream string
	Device string
}

// String returns tenant/stream/device. Tenant and stream contain no slash, so different series
// have different strings.
func (s Series) String() string { return s.Tenant + "/" + s.Stream + "/" + s.Device }

// Compare orders series by tenant, stream and device.
func (s Series) Compare(t Series) int {
	return cmp.Or(
		cmp.Compare(s.Tenant, t.Tenant),
		cmp.Compare(s.Stream, t.Stream),
		cmp.Compare(s.Device, t.Device))
}

// Reading is one event of one device. The comments on its fields describe a normalized reading: see
// [Reading.Normalize].
type Reading struct {
	Series

	// Time is the event time in UTC, to the nanosecond. It is not before 1970.
	Time time.Time
	// ID separates readings of one series and event time.
	ID ID
	// Arrived is the time at which Varve received the reading, in UTC, to the millisecond.
	Arrived time.Time
	// Fields contains the values, sorted by name. Each name occurs once.
	Fields []Field
}

// Position returns the position of the reading in its series.
func (r *Reading) Position() Position { return Position{Time: r.Time.UnixNano(), ID: r.ID} }

// fewFields is the largest number of fields for which a linear search is faster than a binary search.
const fewFields = 8

// Field returns the value of the named field, or the zero Value if the reading lacks the field.
func (r *Reading) Field(name string) Value {
	if len(r.Fields) <= fewFields {
		for i := range r.Fields {
			if r.Fields[i].Name == name {
				return r.Fields[i].Value
			}
		}
		return Value{}
	}
	i, ok := slices.BinarySearchFunc(r.Fields, name, func(f Field, name string) int {
		return cmp.Compare(f.Name, name)
	})
	if !ok {
		return Value{}
	}
	return r.Fields[i].Value
}

// Normalize converts the reading to the form in which it is stored and compared.
//
// It calls NormalizeValues. If the reading is valid and has no id, Normalize then sets the content
// id.
func (r *Reading) Normalize() Verdict {
	v := r.NormalizeValues()
	if v.Outcome != Rejected && r.ID.IsZero() {
		r.ID = r.ContentID()
	}
	return v
}

// NormalizeValues sorts the fields by name, converts times to UTC, and truncates the arrival to
// milliseconds. A missing id stays unset. The store computes the content id when it needs one.
//
// It returns a rejecting verdict if the reading cannot be stored, otherwise the zero Verdict. It
// does not compare the event time with the clock; the router does.
func (r *Reading) NormalizeValues() Verdict {
	if v := r.Series.Validate(); v.Outcome == Rejected {
		return v
	}
	switch {
	case r.Time.Unix() < 0:
		return Reject(CodeTimeTooOld, "time %s is before 1970", r.Time.UTC().Format(time.RFC3339Nano))
	case !r.Time.Before(time.Unix(0, MaxTime)):
		return Reject(CodeTimeInFuture, "time %s is after 2262", r.Time.UTC().Format(time.RFC3339Nano))
	}
	if !r.hasCommonFields() {
		if v := r.normalizeFields(); v.Outcome == Rejected {
			return v
		}
	}
	if size := r.SizeAbove(MaxReadingBytes); size > 0 {
		return Reject(CodeTooLarge, "the reading has %d bytes, the limit is %d", size, MaxReadingBytes)
	}
	r.Time, r.Arrived = r.Time.UTC(), r.Arrived.UTC().Truncate(time.Millisecond)
	return Verdict{}
}

// NormalizeNew is like NormalizeValues, and also refuses device names that only stored readings may
// have: see [ValidateNewDevice].
func (r *Reading) NormalizeNew() Verdict {
	if v := r.NormalizeValues(); v.Outcome == Rejected {
		return v
	}
	if isRelativePath(r.Series.Device) {
		return Reject(CodeDeviceInvalid, "%s", ValidateNewDevice(r.Series.Device))
	}
	return Verdict{}
}

// hasCommonFields reports whether the fields are sorted and valid, with names in ASCII. Such fields
// skip the slower checks of normalizeFields.
func (r *Reading) hasCommonFields() bool {
	before := ""
	for i := range r.Fields {
		f := &r.Fields[i]
		if f.Name <= before || f.Name[0] == '_' || len(f.Name) > MaxFieldBytes || f.Value.kind == 0 || !printable.IsASCII(f.Name) {
			return false
		}
		before = f.Name
	}
	return len(r.Fields) > 0 && len(r.Fields) <= MaxFields
}

func (r *Reading) normalizeFields() Verdict {
	if len(r.Fields) == 0 {
		return Reject(CodeFieldInvalid, "the reading has no fields: send at least one value")
	}
	if len(r.Fields) > MaxFields {
		return Reject(CodeFieldInvalid, "the reading has %d fields, the limit is %d", len(r.Fields), MaxFields)
	}
	if !slices.IsSortedFunc(r.Fields, CompareFields) {
		slices.SortStableFunc(r.Fields, CompareFields)
	}
	for i := range r.Fields {
		name := r.Fields[i].Name
		if why := printable.FieldProblem(name, MaxFieldBytes); why != "" {
			return Reject(CodeFieldInvalid, "field name %s %s", quote.Text(name), why)
		}
		if i > 0 && r.Fields[i-1].Name == name {
			return Reject(CodeFieldInvalid, "field %s occurs twice", quote.Text(name))
		}
		if r.Fields[i].Value.IsZero() {
			return Reject(CodeFieldInvalid, "field %s has no value", quote.Text(name))
		}
	}
	return Verdict{}
}

// CompareFields orders fields by name.
func CompareFields(a, b Field) int { return cmp.Compare(a.Name, b.Name) }

// Size returns the total bytes of the id, the field names and the values. MaxReadingBytes is its
// limit.
func (r *Reading) Size() int {
	size := r.ID.size()
	for i := range r.Fields {
		size += len(r.Fields[i].Name) + r.Fields[i].Value.size()
	}
	return size
}

// SizeAbove returns Size if it is larger than limit, otherwise 0. For most readings it is several times
// faster than Size, because it first computes an upper bound without counting digits.
func (r *Reading) SizeAbove(limit int) int {
	const maxNumber = 1 + decimal.MaxDigits // largest size of a number or a boolean
	bound := r.ID.size()
	for i := range r.Fields {
		bound += len(r.Fields[i].Name) + len(r.Fields[i].Value.text) + maxNumber
	}
	if bound > limit {
		if size := r.Size(); size > limit {
			return size
		}
	}
	return 0
}

// Alive reports whether the event time or the arrival is after cutoff. Such a reading has not
// expired. The zero cutoff means that readings never expire.
func (r *Reading) Alive(cutoff time.Time) bool {
	return r.Time.After(cutoff) || r.Arrived.After(cutoff)
}

// Clone returns a reading that shares no slice with r.
func (r *Reading) Clone() Reading {
	c := *r
	c.Fields = slices.Clone(r.Fields)
	return c
}

// Equal reports whether r and q have the same identity, values and arrival.
func (r *Reading) Equal(q *Reading) bool {
	return r.Series == q.Series && r.ID == q.ID &&
		r.Time.Equal(q.Time) && r.Arrived.Equal(q.Arrived) && r.SameFields(q)
}

// SameFields reports whether r and q have the same fields with the same values. The scale of a
// number does not count: 1.5 equals 1.50.
func (r *Reading) SameFields(q *Reading) bool {
	return slices.EqualFunc(r.Fields, q.Fields, Field.Equal)
}

// String returns the series, time, id and version for use in messages.
func (r *Reading) String() string {
	text := fmt.Sprintf("%s@%s#%s", r.Series, r.Time.UTC().Format(time.RFC3339Nano), r.ID)
	if v := r.ID.version; v > 0 {
		text += fmt.Sprint(" version ", v)
	}
	return text
}
