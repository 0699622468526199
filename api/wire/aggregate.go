package wire

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/varvedb/varve/aggregate"
)

// AggregatesBody is the answer to an aggregate query.
type AggregatesBody struct {
	Buckets  []AggregateBody `json:"buckets" doc:"by device, then in order of time; with top, the highest device first"`
	Source   string          `json:"source" enum:"readings,rollups" doc:"the data that was read; rollups also include expired readings"`
	Coverage json.RawMessage `json:"coverage,omitempty" doc:"the tables that were read; for keys of the tenant default"`
	Notes    []Note          `json:"notes,omitempty" doc:"named devices or fields that the answer lacks because they do not exist"`
}

// AggregateBody is one bucket, of one device or of all devices of the query.
type AggregateBody struct {
	Device   string                    `json:"device,omitempty" doc:"absent if the query merges devices"`
	Start    string                    `json:"start" format:"date-time" doc:"beginning of the bucket; the next bucket begins at its end"`
	Readings int64                     `json:"readings" doc:"readings in the bucket, with numbers or without; 0 if the bucket is filled"`
	Fields   map[string]AggregateField `json:"fields"`
}

// AggregateField has one property for each function, such as mean or p99: a JSON number with all
// digits, or null. If some values are not numbers, the property "ignored" counts them.
type AggregateField map[string]json.RawMessage

// ignoredProperty is the name of the property, and of the CSV column, that counts ignored values.
const ignoredProperty = "ignored"

// AggregateWriter writes the rows of an aggregate query.
type AggregateWriter struct {
	Format    Format
	Functions []aggregate.Function
	Zone      *time.Location // zone in which the times of buckets are written; nil means UTC
	Devices   bool           // if true, each bucket names its device
	rows      int
}

// AppendHead appends the beginning of an answer in JSON, or the header of CSV. For NDJSON, it appends
// nothing.
func (w *AggregateWriter) AppendHead(dst []byte) []byte {
	switch w.Format {
	case JSON:
		return append(dst, `{"buckets":[`...)
	case CSV:
		if w.Devices {
			dst = append(dst, "device,"...)
		}
		dst = append(dst, "start,readings,field,"+ignoredProperty...)
		for _, f := range w.Functions {
			dst = append(append(dst, ','), f.String()...)
		}
		return append(dst, '\r', '\n')
	default:
		return dst
	}
}

// AppendRow appends a bucket. In CSV, a bucket has one row per field, or a single row without fields.
func (w *AggregateWriter) AppendRow(dst []byte, r *aggregate.Row) []byte {
	w.rows++
	switch {
	case w.Format == CSV:
		return w.appendCells(dst, r)
	case w.Format == NDJSON:
		return append(w.appendBucket(dst, r), '\n')
	case w.rows > 1:
		dst = append(dst, ',')
	}
	return w.appendBucket(append(dst, '\n'), r)
}

// AppendTail appends the end of an answer in JSON. In other formats, it appends nothing. The
// coverage may be nil.
func (w *AggregateWriter) AppendTail(dst []byte, source aggregate.Source, coverage []byte, notes []Note) []byte {
	if w.Format != JSON {
		return dst
	}
	if w.rows > 0 {
		dst = append(dst, '\n')
	}
	dst = append(append(dst, `],"source":"`...), source.String()...)
	dst = append(dst, '"')
	if coverage != nil {
		dst = append(append(dst, `,"coverage":`...), coverage...)
	}
	return append(AppendNotes(dst, notes), "}\n"...)
}

func (w *AggregateWriter) appendStart(dst []byte, r *aggregate.Row) []byte {
	t := time.Unix(r.Start, 0)
	if w.Zone == nil || w.Zone == time.UTC {
		return AppendTime(dst, t.UTC())
	}
	t = t.In(w.Zone)
	if _, offset := t.Zone(); offset%60 != 0 {
		return AppendTime(dst, t.UTC()) // RFC 3339 has no offsets with seconds, which some zones had before 1973
	}
	return t.AppendFormat(dst, time.RFC3339)
}

func (w *AggregateWriter) appendBucket(dst []byte, r *aggregate.Row) []byte {
	dst = append(dst, '{')
	if w.Devices {
		dst = append(AppendString(append(dst, `"device":`...), r.Device), ',')
	}
	dst = w.appendStart(append(dst, `"start":"`...), r)
	dst = strconv.AppendInt(append(dst, `","readings":`...), r.Readings, 10)
	dst = append(dst, `,"fields":{`...)
	for i := range r.Fields {
		f := &r.Fields[i]
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(AppendString(dst, f.Name), ':', '{')
		for j, v := range f.Values {
			if j > 0 {
				dst = append(dst, ',')
			}
			dst = append(append(append(dst, '"'), w.Functions[j].String()...), '"', ':')
			dst = v.Append(dst)
		}
		if f.Ignored > 0 {
			dst = strconv.AppendInt(append(dst, `,"`+ignoredProperty+`":`...), f.Ignored, 10)
		}
		dst = append(dst, '}')
	}
	return append(dst, "}}"...)
}

// appendCells appends a row per field. A bucket without fields has one row.
func (w *AggregateWriter) appendCells(dst []byte, r *aggregate.Row) []byte {
	fields := r.Fields
	if len(fields) == 0 {
		fields = []aggregate.Field{{Values: make([]aggregate.Value, len(w.Functions))}}
	}
	for i := range fields {
		f := &fields[i]
		if w.Devices {
			dst = append(AppendCell(dst, r.Device), ',')
		}
		dst = append(w.appendStart(dst, r), ',')
		dst = strconv.AppendInt(dst, r.Readings, 10)
		dst = AppendCell(append(dst, ','), f.Name)
		dst = append(dst, ',')
		if f.Name != "" {
			dst = strconv.AppendInt(dst, f.Ignored, 10)
		}
		for _, v := range f.Values {
			if dst = append(dst, ','); !v.IsNull() {
				dst = v.Append(dst)
			}
		}
		dst = append(dst, '\r', '\n')
	}
	return dst
}

// Ignored returns the number of values that are not numbers.
func (f AggregateField) Ignored() int64 {
	n, _ := strconv.ParseInt(string(f[ignoredProperty]), 10, 64) // absent means 0
	return n
}
