package records

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/url"
	"slices"
	"strings"

	"github.com/go-faster/jx"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/internal/quote"
)

// Target has the stream, the format and the defaults for readings of queue records.
type Target struct {
	Format        wire.Format // JSON, NDJSON or line protocol
	Defaults      wire.Defaults
	ArrivalIsTime bool // if true, the arrival of a reading without a time is its event time
}

// Params are the parameters of ParseTarget, except stream and format.
var Params = []string{"precision", "timezone", "dst", "device", "time", "fields"}

var formats = []wire.Format{wire.JSON, wire.NDJSON, wire.Line}

// ParseTarget returns the target for a tenant. It accepts the parameters in Params, and in addition
// stream and format. The default format is JSON: objects, arrays of objects, or several of them.
func ParseTarget(tenant string, q url.Values) (*Target, error) {
	t := &Target{Format: wire.JSON, Defaults: wire.Defaults{Tenant: tenant, Stream: q.Get("stream")}}
	for name := range q {
		if name != "stream" && name != "format" && !slices.Contains(Params, name) {
			return nil, varve.InvalidParam(name, "unknown parameter: use stream, format, %s", strings.Join(Params, ", "))
		}
	}
	if text := q.Get("format"); text != "" {
		f, ok := wire.ParseBodyFormat(text)
		if !ok || !slices.Contains(formats, f) {
			return nil, varve.InvalidParam("format", "%s is unknown: use json, ndjson or line", quote.Text(text))
		}
		t.Format = f
	}
	if t.Defaults.Stream != "" || t.Format != wire.Line {
		if err := varve.ValidateName("stream", t.Defaults.Stream); err != nil {
			return nil, varve.InvalidParam("stream", "%s", err)
		}
	}
	if _, err := wire.ParsePrecision(q.Get("precision")); err != nil && t.Format != wire.Line {
		return nil, varve.InvalidParam("precision", "%s", err)
	}
	var err error
	if _, t.ArrivalIsTime, err = wire.ParseParams(q, &t.Defaults); err != nil {
		var e *varve.Error
		if errors.As(err, &e) {
			return nil, varve.InvalidParam(strings.TrimPrefix(e.Param, "query."), "%s", e.Message)
		}
		return nil, err
	}
	return t, nil
}

// bodyFormat returns the format of bodies with several records.
func (t *Target) bodyFormat() wire.Format {
	if t.Format == wire.Line {
		return wire.Line
	}
	return wire.NDJSON
}

// lines returns the readings of a record, one on each line, without the last line end.
func (t *Target) lines(data []byte) []byte {
	data = bytes.TrimSpace(data)
	if t.Format != wire.JSON || isOneLine(data) {
		return data
	}
	text, err := splitValues(data)
	if err == nil {
		return text
	}
	if _, err := splitValues(bytes.TrimSpace(firstLine(data))); err == nil {
		return data // the first line is valid JSON, so each line is a reading, and a later line is invalid
	}
	return bytes.ReplaceAll(data, newline, []byte{' '})
}

// needsArrival reports whether a record may contain valid readings without a time.
func (t *Target) needsArrival(text []byte) bool {
	if t.Format != wire.Line {
		return t.ArrivalIsTime
	}
	for line := range bytes.Lines(text) {
		line = bytes.TrimRight(line, "\r\n ")
		last := line[bytes.LastIndexByte(line, ' ')+1:]
		if len(last) > 0 && len(bytes.Trim(last, "-0123456789")) > 0 {
			return true
		}
	}
	return false
}

func firstLine(data []byte) []byte {
	line, _, _ := bytes.Cut(data, newline)
	return line
}

// isOneLine reports whether a text is one JSON object on one line, or empty.
func isOneLine(data []byte) bool {
	if len(data) == 0 {
		return true
	}
	if data[0] != '{' || bytes.IndexByte(data, '\n') >= 0 {
		return false
	}
	d := jx.DecodeBytes(data)
	return d.Skip() == nil && errors.Is(d.Skip(), io.EOF)
}

// splitValues returns the values of a sequence of JSON values, one on each line. An array stands for
// its elements.
func splitValues(data []byte) ([]byte, error) {
	var out bytes.Buffer
	appendValue := func(d *jx.Decoder) error {
		raw, err := d.Raw()
		if err != nil {
			return err
		}
		if out.Len() > 0 {
			out.WriteByte('\n')
		}
		if bytes.IndexByte(raw, '\n') < 0 {
			out.Write(raw)
			return nil
		}
		return json.Compact(&out, raw)
	}
	d := jx.DecodeBytes(data)
	for {
		var err error
		switch kind := d.Next(); {
		case kind == jx.Array:
			err = d.Arr(appendValue)
		case kind == jx.Invalid && errors.Is(d.Skip(), io.EOF):
			return out.Bytes(), nil
		default:
			err = appendValue(d)
		}
		if err != nil {
			return nil, err
		}
	}
}
