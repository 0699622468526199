package wire

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-faster/jx"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/decimal"
)

// Defaults has the values that apply to readings without values of their own, and the options for parsing
// readings.
type Defaults struct {
	Tenant, Stream string
	Device         string // device of readings without one; if empty, each reading must have a device
	Time           TimeFormat
	Arrival        time.Time // if set, the event time of readings without an event time
	Flat           bool      // all properties of JSON objects are fields, except device, time, id, _version and stream
	// Lines determines which tags of line protocol name the device, and which become fields. If nil, the
	// default mapping applies.
	Lines *LineMapping
	// Now returns the time of points of line protocol without a time. If nil, such points are
	// invalid.
	Now func() time.Time
	// Replace, if set, replaces parts of all readings.
	Replace *Replacement
}

// object parses readings that are JSON objects:
//
//	{"device": "sensor_01", "time": "2026-04-20T14:00:00Z", "id": "…", "fields": {"temperature": 22.4}}
//
// The id is optional. A correction has the id of its reading and the property "version", or "_version" if
// Flat is set. In a request, the property "arrived" is skipped, because the server sets the arrival. With
// Flat, it is a field. A field that is null is absent.
type object struct {
	Defaults
	plain    plain
	dec      jx.Decoder
	seen     propertySet
	unpaired bool // the text contains an escape of one half of a surrogate pair
	// sentVersion is the version of the object that is read.
	sentVersion uint32
	answers     bool // reads the arrival, because the object belongs to an answer
}

// propertySet records which properties of an object were read.
type propertySet struct{ device, time, id, version, fields bool }

// into parses one object as a new reading of the batch. It returns false if the text is not a JSON
// object. Then the new reading has a verdict that rejects it.
func (o *object) into(b *Batch, text []byte, line int) bool {
	r := b.add(line)
	r.Tenant, r.Stream, r.Device = o.Tenant, o.Stream, o.Device
	if b.RecordTexts {
		b.recordText(text)
	}
	if !o.Flat && o.Replace == nil && o.plain.into(b, r, o, text) {
		return true
	}
	return o.decode(b, r, text)
}

// decode parses an object with the JSON decoder, as the last reading of the batch. Unlike plain, it
// accepts all JSON objects.
func (o *object) decode(b *Batch, r *varve.Reading, text []byte) bool {
	o.seen, o.unpaired, o.sentVersion = propertySet{}, unpaired(text), 0
	var verdict varve.Verdict
	note := func(v varve.Verdict) {
		if verdict.Outcome == 0 {
			verdict = v
		}
	}
	from := b.begin()
	o.dec.ResetBytes(text)
	err := o.dec.ObjBytes(func(d *jx.Decoder, key []byte) error { return o.property(b, r, d, key, note) })
	if err == nil && !errors.Is(o.dec.Skip(), io.EOF) {
		err = errors.New("more follows the object: a line has one object (curl joins lines unless you use --data-binary)")
	}
	b.end(from, r)
	if err != nil {
		b.reject(malformed(text, err))
		return false
	}
	if v := setVersion(r, o.sentVersion); v.Outcome != 0 {
		note(v)
	}
	if device := o.replacedDevice(); device != "" {
		b.setDevice(r, device)
	}
	if at := o.replacedTime(); !at.IsZero() {
		r.Time = at
	} else if r.Time.IsZero() && !o.Arrival.IsZero() {
		r.Time = o.Arrival
	} else if !o.seen.time {
		note(varve.Reject(varve.CodeTimeMissing, `"time" is missing: send it, or set time=arrival`))
	}
	if r.Device == "" && verdict.Code != varve.CodeDeviceInvalid {
		note(varve.Reject(varve.CodeDeviceInvalid, `"device" is missing`))
	}
	if o.unpaired {
		note(varve.Reject(varve.CodeMalformed, "not a JSON object: %s", errSurrogate))
	}
	b.reject(verdict)
	return true
}

func (o *object) property(b *Batch, r *varve.Reading, d *jx.Decoder, key []byte, note func(varve.Verdict)) error {
	twice := func(seen *bool) {
		if *seen {
			note(varve.Reject(varve.CodeMalformed, "%q occurs twice", key))
		}
		*seen = true
	}
	switch string(key) {
	case "device":
		twice(&o.seen.device)
		if o.replacedDevice() != "" {
			return d.Skip()
		}
		return o.device(b, r, d, note)
	case "time":
		twice(&o.seen.time)
		if !o.replacedTime().IsZero() {
			return d.Skip()
		}
		return o.time(r, d, note)
	case "id":
		twice(&o.seen.id)
		return o.id(r, d, note)
	case "version", VersionColumn:
		if o.Flat != (string(key) == VersionColumn) {
			break // here, the property is a field or unknown
		}
		twice(&o.seen.version)
		return o.version(d, note)
	case "stream":
		if o.Flat {
			return o.stream(d, note)
		}
	case "fields":
		if o.Flat {
			return o.field(b, d, key, note)
		}
		twice(&o.seen.fields)
		return o.fields(b, d, note)
	case "arrived":
		if o.answers {
			return o.arrived(r, d, note)
		}
		if !o.Flat {
			return d.Skip()
		}
	}
	if o.Flat {
		return o.field(b, d, key, note)
	}
	note(varve.Reject(varve.CodeMalformed, `%s is not a member of a reading: put values into "fields", or send fields=flat`, clip(string(key))))
	return d.Skip()
}

func (o *object) device(b *Batch, r *varve.Reading, d *jx.Decoder, note func(varve.Verdict)) error {
	if d.Next() != jx.String {
		note(varve.Reject(varve.CodeDeviceInvalid, "the device is not a string"))
		return d.Skip()
	}
	s, err := d.StrBytes()
	if err != nil {
		return err
	}
	if len(s) == 0 {
		note(varve.Reject(varve.CodeDeviceInvalid, "device \"\" is empty"))
	}
	if o.spoilt(s) {
		note(varve.Reject(varve.CodeDeviceInvalid, "the device: %s", errSurrogate))
	}
	r.Device = b.device(s)
	return nil
}

func (o *object) time(r *varve.Reading, d *jx.Decoder, note func(varve.Verdict)) error {
	var text []byte
	var err error
	switch d.Next() {
	case jx.String:
		text, err = d.StrBytes()
	case jx.Number:
		var n jx.Num
		n, err = d.Num()
		text = n
	case jx.Null:
		if o.Arrival.IsZero() {
			note(varve.Reject(varve.CodeTimeMissing, "the time is null"))
		}
		return d.Skip()
	default:
		note(varve.Reject(varve.CodeTimeInvalid, "the time is neither a string nor a number"))
		return d.Skip()
	}
	if err != nil {
		return err
	}
	if len(text) == 0 && !o.Arrival.IsZero() {
		return nil
	}
	t, v := o.Time.parseBytes(text)
	if v.Outcome != 0 {
		note(v)
	}
	r.Time = t
	return nil
}

// stream checks the stream that a flat object names. It must be Defaults.Stream.
func (o *object) stream(d *jx.Decoder, note func(varve.Verdict)) error {
	if d.Next() != jx.String {
		note(varve.Reject(varve.CodeStreamInvalid, "the stream is not a string"))
		return d.Skip()
	}
	s, err := d.Str()
	if err == nil && s != o.Stream {
		note(varve.Reject(varve.CodeStreamInvalid, "stream %s: not the stream of the request, %s: send it there, or omit it", clip(s), o.Stream))
	}
	return err
}

func (o *object) arrived(r *varve.Reading, d *jx.Decoder, note func(varve.Verdict)) error {
	text, err := d.Str()
	if err != nil {
		return err
	}
	t, v := o.Time.Parse(text)
	if v.Outcome != 0 {
		note(v)
	}
	r.Arrived = t
	return nil
}

func (o *object) id(r *varve.Reading, d *jx.Decoder, note func(varve.Verdict)) error {
	switch d.Next() {
	case jx.String:
	case jx.Null:
		return d.Skip()
	default:
		note(varve.Reject(varve.CodeIDInvalid, "the id is not a string"))
		return d.Skip()
	}
	s, err := d.Str()
	if err != nil {
		return err
	}
	if o.spoilt([]byte(s)) {
		note(varve.Reject(varve.CodeIDInvalid, "the id: %s", errSurrogate))
	}
	if r.ID, err = varve.ParseID(s); err != nil {
		note(varve.Reject(varve.CodeIDInvalid, "%s", err))
	}
	return nil
}

func (o *object) fields(b *Batch, d *jx.Decoder, note func(varve.Verdict)) error {
	if d.Next() != jx.Object {
		note(varve.Reject(varve.CodeFieldInvalid, `"fields" is not an object`))
		return d.Skip()
	}
	return d.ObjBytes(func(d *jx.Decoder, key []byte) error { return o.field(b, d, key, note) })
}

func (o *object) field(b *Batch, d *jx.Decoder, key []byte, note func(varve.Verdict)) error {
	name := b.names.get(key)
	v, err, wrong := jsonValue(d)
	if o.unpaired && wrong == nil && (o.spoilt(key) || o.spoilt([]byte(v.Text()))) {
		wrong = errSurrogate
	}
	switch {
	case err != nil:
		return err
	case wrong != nil:
		note(varve.Reject(varve.CodeFieldInvalid, "field %s: %s", clip(name), wrong))
	case !v.IsZero():
		b.field(name, v)
	}
	return nil
}

// jsonValue parses the value of a field. It returns the zero Value for null. The error "err" means that
// the text is not JSON. The error "wrong" means that the value cannot be stored.
func jsonValue(d *jx.Decoder) (v varve.Value, err, wrong error) {
	switch d.Next() {
	case jx.Number:
		n, err := d.Num()
		if err != nil {
			return v, err, nil
		}
		num, wrong := decimal.Parse(n)
		if wrong != nil {
			return v, nil, fmt.Errorf("%s: %w", clip(string(n)), wrong)
		}
		return varve.NumberValue(num), nil, nil
	case jx.String:
		s, err := d.Str()
		if err != nil {
			return v, err, nil
		}
		v, wrong = textValue(s)
		return v, nil, wrong
	case jx.Bool:
		t, err := d.Bool()
		return varve.BoolValue(t), err, nil
	case jx.Null:
		return v, d.Null(), nil
	case jx.Object, jx.Array:
		raw, err := d.Raw()
		if err != nil {
			return v, err, nil
		}
		v, wrong = metadata(raw)
		return v, nil, wrong
	default:
		return v, d.Skip(), nil // returns the error of the decoder
	}
}

var errNotUTF8 = errors.New("not valid UTF-8")

// textValue returns a text as a value. It rejects invalid UTF-8, which could not be returned
// unchanged.
func textValue(s string) (varve.Value, error) {
	if !utf8.ValidString(s) {
		return varve.Value{}, errNotUTF8
	}
	return varve.StringValue(s), nil
}

// metadata returns a JSON object or array as a value. It rejects invalid UTF-8 and halves of surrogate
// pairs, which could not be returned unchanged.
func metadata(text []byte) (varve.Value, error) {
	if !utf8.Valid(text) {
		return varve.Value{}, errNotUTF8
	}
	if unpaired(text) {
		return varve.Value{}, errSurrogate
	}
	return varve.JSONValue(text)
}

func malformed(text []byte, err error) varve.Verdict {
	for _, word := range []string{"NaN", "Infinity", "Inf"} {
		if at, ok := errorOffset(err); ok && at <= len(text) && bytes.HasPrefix(text[at:], []byte(word)) {
			return varve.Reject(varve.CodeFieldInvalid, "%s is not a number that can be stored: leave the field out", word)
		}
	}
	return varve.Reject(varve.CodeMalformed, "not a JSON object: %s", tidy(err))
}

// innermost returns the error that all other errors of a chain wrap.
func innermost(err error) error {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err
		}
		err = inner
	}
}

// errorOffset returns the offset at which the decoder stopped, if its error contains one.
func errorOffset(err error) (int, bool) {
	msg := innermost(err).Error()
	i := strings.LastIndex(msg, " at ")
	if i < 0 {
		return 0, false
	}
	at, err := strconv.Atoi(msg[i+len(" at "):])
	return at, err == nil && at >= 0
}

// tidy returns the text of a decoder's error without the errors that wrap it.
func tidy(err error) string {
	if err = innermost(err); errors.Is(err, io.ErrUnexpectedEOF) {
		return "it ends too early (unexpected EOF)"
	}
	return err.Error()
}
