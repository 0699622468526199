package topic

import (
	"bytes"
	"errors"
	"maps"
	"slices"

	"github.com/go-faster/jx"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/wire"
)

// ErrUnmatched reports a topic that no pattern matches.
var ErrUnmatched = errors.New("no pattern matches the topic")

// Unreadable reports a message that cannot be converted, or whose topic gives an invalid name.
type Unreadable struct{ Verdict varve.Verdict }

func (u *Unreadable) Error() string { return u.Verdict.Message }

func unreadable(code varve.Code, format string, args ...any) error {
	return &Unreadable{varve.Reject(code, format, args...)}
}

func malformed(format string, args ...any) error {
	return unreadable(varve.CodeMalformed, format, args...)
}

type payload struct {
	format      wire.Format
	namesStream bool // the payload can name streams
	needsField  bool // the pattern or the rule must give the field
	convert     func(r *Route, d *Delivery, field string) error
}

var payloads = map[string]payload{
	"json":                {format: wire.JSON, convert: convertJSON},
	"flatten":             {format: wire.JSON, convert: convertNested},
	"value":               {format: wire.JSON, needsField: true, convert: convertValue},
	"csv":                 {format: wire.CSV, convert: passPayload},
	"line":                {format: wire.Line, namesStream: true, convert: passPayload},
	"thingsboard":         {format: wire.JSON, convert: convertThingsBoard},
	"thingsboard-gateway": {format: wire.JSON, convert: convertGateway},
}

// Payloads returns the names of the kinds of payloads.
func Payloads() []string { return slices.Sorted(maps.Keys(payloads)) }

// passPayload leaves the payload unchanged.
func passPayload(*Route, *Delivery, string) error { return nil }

// convertJSON leaves the payload unchanged. If the first object has no object "fields", it marks all
// objects as flat: their properties are fields, except device, time, id, _version and stream.
func convertJSON(_ *Route, d *Delivery, _ string) error {
	if len(bytes.TrimSpace(d.Body)) == 0 {
		return malformed("the payload is empty: send a reading as JSON")
	}
	d.Defaults.Flat = !hasFields(d.Body)
	return nil
}

// hasFields reports whether the first object of a text has an object named fields. For a text that is
// not JSON, it returns true, so that the reader of JSON bodies reports the mistake.
func hasFields(text []byte) bool {
	dec := jx.DecodeBytes(text)
	if dec.Next() == jx.Array {
		if more, err := dec.ArrIter(); err != nil || !more.Next() {
			return true
		}
	}
	if dec.Next() != jx.Object {
		return true
	}
	found := false
	err := dec.ObjBytes(func(d *jx.Decoder, key []byte) error {
		if string(key) == "fields" && d.Next() == jx.Object {
			found = true
			return errFound
		}
		return d.Skip()
	})
	return found || err != nil
}

// errFound ends the decoding of an object early.
var errFound = errors.New("found")

// convertValue makes a reading of a single number, boolean or string of JSON.
func convertValue(_ *Route, d *Delivery, field string) error {
	text := bytes.TrimSpace(d.Body)
	dec := jx.DecodeBytes(text)
	switch dec.Next() {
	case jx.Number, jx.Bool, jx.String:
	default:
		return malformed("the payload is not a value: send a number, true, false or a string in quotes")
	}
	if err := dec.Skip(); err != nil || !jx.Valid(text) {
		return malformed("the payload is not one value: send a number, true, false or a string in quotes")
	}
	b := builder{}
	b.begin("", nil)
	b.field(field, text)
	d.Body = b.end()
	return nil
}

// convertNested makes a reading of a JSON object whose nested objects become fields such as a.b.
func convertNested(r *Route, d *Delivery, _ string) error {
	fields, ok := rawAt(d.Body, r.fieldsAt)
	if !ok || jx.DecodeBytes(fields).Next() != jx.Object || !jx.Valid(d.Body) {
		return malformed("the payload is not a JSON object with the fields: see fields_at")
	}
	timeAt := r.timeAt
	if len(timeAt) == 0 {
		timeAt = []string{"time"}
	}
	at, _ := rawAt(d.Body, timeAt)
	b := builder{}
	b.begin("", at)
	skip := ""
	if len(timeAt) == 1 && len(r.fieldsAt) == 0 {
		skip = timeAt[0]
	}
	switch err := b.flatten("", jx.DecodeBytes(fields), skip); {
	case errors.Is(err, errNested):
		return malformed("the name of a nested field has more than %d bytes: use fewer levels or shorter names", varve.MaxFieldBytes)
	case err != nil:
		return malformed("the payload is not JSON: %s", err)
	}
	d.Body = b.end()
	return nil
}

// rawAt returns the value at a path of a JSON object.
func rawAt(text []byte, path []string) (raw jx.Raw, ok bool) {
	raw = jx.Raw(bytes.TrimSpace(text))
	for _, name := range path {
		dec := jx.DecodeBytes(raw)
		if dec.Next() != jx.Object {
			return nil, false
		}
		var found jx.Raw
		err := dec.ObjBytes(func(d *jx.Decoder, key []byte) error {
			if string(key) != name || found != nil {
				return d.Skip()
			}
			var err error
			found, err = d.Raw()
			return err
		})
		if err != nil || found == nil {
			return nil, false
		}
		raw = found
	}
	return raw, true
}

// builder writes readings as JSON.
type builder struct {
	out   []byte
	first bool // no field of the current reading has been written
}

// begin begins a reading. The device may be "", and the time nil.
func (b *builder) begin(device string, at jx.Raw) {
	b.out, b.first = append(b.out, '{'), true
	if device != "" {
		b.out = append(wire.AppendString(append(b.out, `"device":`...), device), ',')
	}
	if at != nil {
		b.out = append(b.out, `"time":`...)
		b.raw(at)
		b.out = append(b.out, ',')
	}
	b.out = append(b.out, `"fields":{`...)
}

func (b *builder) field(name string, value []byte) {
	if !b.first {
		b.out = append(b.out, ',')
	}
	b.first = false
	b.out = append(wire.AppendString(b.out, name), ':')
	b.raw(value)
}

// raw writes a text of JSON on one line, because each reading must have one line of its own.
func (b *builder) raw(text []byte) {
	from := len(b.out)
	b.out = append(b.out, text...)
	for i := from; i < len(b.out); i++ {
		if b.out[i] == '\n' || b.out[i] == '\r' {
			b.out[i] = ' ' // valid JSON has line breaks only between its tokens
		}
	}
}

// end ends a reading and returns the text so far.
func (b *builder) end() []byte {
	b.out = append(b.out, '}', '}', '\n')
	return b.out
}

// flatten writes the properties of the next object as fields, except the one whose name is the argument
// "skip". Names of nested properties are joined by dots. It fails with errNested at a depth where all
// names are too long. So its time does not grow with the depth of the text.
func (b *builder) flatten(prefix string, object *jx.Decoder, skip string) error {
	if len(prefix) > varve.MaxFieldBytes {
		return errNested
	}
	return object.ObjBytes(func(d *jx.Decoder, key []byte) error {
		name := prefix + string(key)
		switch {
		case name == skip && skip != "":
			return d.Skip()
		case d.Next() == jx.Object:
			return b.flatten(name+".", d, "")
		}
		raw, err := d.Raw()
		if err == nil {
			b.field(name, raw)
		}
		return err
	})
}

var errNested = errors.New("names of nested fields are too long")
