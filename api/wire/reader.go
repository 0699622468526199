package wire

import (
	"fmt"
	"io"
	"mime"

	"github.com/go-faster/jx"
)

// Format is a format of readings.
type Format uint8

// The formats.
const (
	JSON       Format = iota + 1 // an object or an array of objects
	NDJSON                       // one object per line
	CSV                          // one reading per row, after a header
	ColumnJSON                   // one object with an array per column; only for answers
)

func (f Format) String() string {
	switch f {
	case JSON:
		return "JSON"
	case NDJSON:
		return "NDJSON"
	case CSV:
		return "CSV"
	case ColumnJSON:
		return "columns"
	default:
		return "unknown"
	}
}

// MediaType returns the media type of the format.
func (f Format) MediaType() string {
	switch f {
	case NDJSON:
		return "application/x-ndjson"
	case CSV:
		return "text/csv; charset=utf-8"
	case ColumnJSON:
		return "application/vnd.varve.columns+json"
	default:
		return "application/json"
	}
}

// FormatOf returns the format of a Content-Type. A missing type and the default type
// of HTTP clients mean JSON. It is false for types without readings.
func FormatOf(contentType string) (Format, bool) {
	if contentType == "application/json" || contentType == "" {
		return JSON, true
	}
	media, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		return 0, false
	}
	switch media {
	case "application/json", "text/json", "application/x-www-form-urlencoded", "application/octet-stream", "text/plain":
		return JSON, true
	case "application/x-ndjson", "application/ndjson", "application/jsonl", "application/x-jsonlines", "application/json-lines":
		return NDJSON, true
	case "text/csv", "application/csv":
		return CSV, true
	}
	return 0, false
}

// BodyError reports a body that cannot be read to its end.
type BodyError struct {
	Message string
	Param   string // the parameter of a write that can mend it, or ""
}

func (e *BodyError) Error() string { return e.Message }

func bodyErrorf(format string, args ...any) error {
	return &BodyError{Message: fmt.Sprintf(format, args...)}
}

// Reader reads the readings of a body.
type Reader interface {
	// Read adds readings to the batch until it is full. At the end of the body the
	// error is io.EOF. Any other error, a BodyError or an error of the body, ends
	// the body. Readings that were added are valid in any case.
	Read(b *Batch) error
}

// Memory holds the buffers of a reader. It can serve one reader after another. The
// zero Memory is ready.
type Memory struct {
	window window
	json   jsonBody
	ndjson ndjson
	object object
	second jx.Decoder
}

// NewReader returns a reader of a body in a format. The reader uses mem until its last call.
// Columns applies to CSV.
func NewReader(mem *Memory, f Format, body io.Reader, d Defaults, columns Columns) (Reader, error) {
	mem.object.Defaults = d
	switch f {
	case NDJSON:
		return mem.lines(body), nil
	case CSV:
		return newCSV(mem, body, d, columns)
	default:
		mem.json = jsonBody{mem: mem, body: body}
		return &mem.json, nil
	}
}

func (mem *Memory) lines(body io.Reader) *ndjson {
	mem.window.reset(body)
	mem.window.bounded = true
	mem.ndjson = ndjson{window: &mem.window, object: &mem.object}
	return &mem.ndjson
}
