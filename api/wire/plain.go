package wire

import (
	"slices"
	"strings"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/decimal"
)

// plain reads objects in the form that almost all clients send. Their strings are printable ASCII without
// escapes, their numbers have no exponent, and their fields are neither null nor nested. plain is several
// times faster than the JSON decoder.
//
// All other texts, including invalid ones, are left to the type object, which reads them with the
// decoder. So plain never rejects a reading.
//
// The readings of a body mostly have one of a few shapes: the same fields in the same order. So plain
// predicts the shape, and stores the values sorted by name.
type plain struct {
	text []byte
	at   int // offset in text of the next byte to read

	shapes [fewShapes]shape // shapes of earlier objects
	last   int              // index in shapes of the shape of the last object
	next   int              // index in shapes of the shape that is replaced next

	times, arrivals dayParser
}

// fewShapes is the number of shapes of earlier objects that are compared. Each failed prediction costs
// about as much as reading a name.
const fewShapes = 4

// shape has the names of the fields of an object.
type shape struct {
	names []string // names in the order in which they occur in the object
	order []int    // index of each name among the sorted names; empty if a name occurs twice
}

// into reads an object as the last reading of the batch. For a text in another form, it returns false
// and leaves the reading and the fields of the batch unchanged.
func (p *plain) into(b *Batch, r *varve.Reading, o *object, text []byte) bool {
	p.text, p.at = text, 0
	before, size, from := *r, b.size, b.begin()
	if !p.object(b, r, o) || p.space() < len(text) {
		*r, b.size, b.fields = before, size, b.fields[:from]
		return false
	}
	b.end(from, r)
	return true
}

func (p *plain) object(b *Batch, r *varve.Reading, o *object) bool {
	var seen propertySet
	if !p.takeByte('{') {
		return false
	}
	for {
		key, ok := p.key()
		if !ok {
			return false
		}
		switch string(key) {
		case "device":
			ok = once(&seen.device) && p.device(b, r)
		case "time":
			ok = once(&seen.time) && p.time(r, o)
		case "id":
			ok = once(&seen.id) && p.id(r)
		case "arrived":
			ok = o.answers && r.Arrived.IsZero() && p.arrived(r)
		case "fields":
			ok = once(&seen.fields) && p.fields(b)
		default:
			return false
		}
		if !ok {
			return false
		}
		if !p.takeByte(',') {
			break
		}
	}
	return p.takeByte('}') && seen.time && seen.fields && r.Device != ""
}

// once sets a flag. It returns false if the flag was set already, because a property occurs twice.
func once(mark *bool) bool {
	was := *mark
	*mark = true
	return !was
}

func (p *plain) device(b *Batch, r *varve.Reading) bool {
	s, ok := p.string()
	if ok {
		r.Device = b.device(s)
	}
	return ok
}

func (p *plain) time(r *varve.Reading, o *object) bool {
	p.space()
	var text []byte
	var ok bool
	if p.at < len(p.text) && p.text[p.at] == '"' {
		if text, ok = p.string(); !ok {
			return false
		}
		if r.Time, ok = p.times.parse(text); ok {
			return true
		}
		ok = true
	} else {
		from := p.at
		_, ok = p.number()
		text = p.text[from:p.at]
	}
	if !ok {
		return false
	}
	t, v := o.Time.parseBytes(text)
	r.Time = t
	return v.Outcome == 0
}

func (p *plain) arrived(r *varve.Reading) bool {
	text, ok := p.string()
	if ok {
		r.Arrived, ok = p.arrivals.parse(text)
	}
	return ok
}

func (p *plain) id(r *varve.Reading) bool {
	s, ok := p.string()
	if !ok {
		return false
	}
	id, err := varve.ParseID(string(s))
	r.ID = id
	return err == nil
}

// fields reads the property "fields" of the object. If its names are the names of a recorded shape,
// in the same order, it uses the sorted order of the shape. Otherwise it sorts the names.
func (p *plain) fields(b *Batch) bool {
	if !p.takeByte('{') {
		return false
	}
	for n := range fewShapes {
		i := (p.last + n) % fewShapes
		if s := &p.shapes[i]; len(s.order) > 0 && p.predicted(b, s) {
			p.last = i
			return true
		}
	}
	return p.anyFields(b)
}

// predicted reads fields with the names of a shape. If the names differ or a value is not plain, it
// returns false, and leaves p.at and the batch unchanged.
func (p *plain) predicted(b *Batch, s *shape) bool {
	at, size, from := p.at, b.size, b.begin()
	n := len(s.names)
	b.growFields(n)
	b.fields = b.fields[:from+n]
	fields := b.fields[from:]
	for i := range s.names {
		name := s.names[i]
		if !p.hasName(name) || !p.takeByte(':') {
			break
		}
		v, ok := p.value()
		if !ok {
			break
		}
		fields[s.order[i]] = varve.Field{Name: name, Value: v}
		b.size += fieldBytes + len(name) + len(v.Text())
		if i < n-1 && p.takeByte(',') {
			continue
		}
		if i == n-1 && p.takeByte('}') {
			return true
		}
		break
	}
	clear(fields)
	p.at, b.size, b.fields = at, size, b.fields[:from]
	return false
}

// anyFields reads fields with any names, and records their shape for later objects.
func (p *plain) anyFields(b *Batch) bool {
	from := b.begin()
	for {
		key, ok := p.key()
		if !ok {
			return false
		}
		v, ok := p.value()
		if !ok {
			return false
		}
		b.field(b.names.get(key), v)
		if !p.takeByte(',') {
			break
		}
	}
	if !p.takeByte('}') {
		return false
	}
	fields := b.fields[from:]
	if len(fields) <= varve.MaxFields {
		p.last, p.next = p.next, (p.next+1)%fewShapes
		p.shapes[p.last].learn(fields)
	}
	return true
}

// learn sets the shape to the names of the given fields, and sorts these fields by name.
func (s *shape) learn(fields []varve.Field) {
	s.names, s.order = s.names[:0], s.order[:0]
	for i := range fields {
		s.names = append(s.names, fields[i].Name)
	}
	slices.SortFunc(fields, varve.CompareFields)
	for i := 1; i < len(fields); i++ {
		if fields[i].Name == fields[i-1].Name {
			return // a reading with a duplicate field is rejected, so its shape is not used for predictions
		}
	}
	for _, name := range s.names {
		at, _ := slices.BinarySearchFunc(fields, name, func(f varve.Field, name string) int { return strings.Compare(f.Name, name) })
		s.order = append(s.order, at)
	}
}

func (p *plain) value() (varve.Value, bool) {
	p.space()
	if p.at == len(p.text) {
		return varve.Value{}, false
	}
	switch c := p.text[p.at]; {
	case c == '-' || c-'0' <= 9:
		n, ok := p.number()
		return varve.NumberValue(n), ok
	case c == '"':
		s, ok := p.string()
		return varve.StringValue(string(s)), ok
	case c == 't':
		return varve.BoolValue(true), p.has("true")
	case c == 'f':
		return varve.BoolValue(false), p.has("false")
	}
	return varve.Value{}, false
}

// fewDigits is the number of digits that always fit into an int64.
const fewDigits = 18

// number reads a number of up to 18 digits, without an exponent.
func (p *plain) number() (n varve.Number, ok bool) {
	text, i := p.text, p.at
	neg := i < len(text) && text[i] == '-'
	if neg {
		i++
	}
	first := i
	var v int64
	for i < len(text) && text[i]-'0' <= 9 {
		v = v*10 + int64(text[i]-'0')
		i++
		if i-first > fewDigits {
			return n, false
		}
	}
	digits := i - first
	if digits == 0 || digits > 1 && text[first] == '0' {
		return n, false
	}
	decimals := 0
	if i < len(text) && text[i] == '.' {
		i++
		point := i
		for i < len(text) && text[i]-'0' <= 9 {
			v = v*10 + int64(text[i]-'0')
			i++
			if digits+i-point > fewDigits {
				return n, false
			}
		}
		if decimals = i - point; decimals == 0 {
			return n, false
		}
	}
	if i < len(text) && text[i]|0x20 == 'e' {
		return n, false
	}
	if neg {
		v = -v
	}
	p.at = i
	return decimal.FromScaled(v, -decimals), true
}

// key reads a name and the colon after it.
func (p *plain) key() ([]byte, bool) {
	key, ok := p.string()
	return key, ok && p.takeByte(':')
}

// string reads a string of printable ASCII. The result shares the memory of the text.
func (p *plain) string() ([]byte, bool) {
	if !p.takeByte('"') {
		return nil, false
	}
	text := p.text
	for i := p.at; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			s := text[p.at:i]
			p.at = i + 1
			return s, true
		case c == '\\' || c < ' ' || c >= 0x7f:
			return nil, false
		}
	}
	return nil, false
}

// takeByte skips optional space and reads a given byte. If another byte follows, it returns false.
func (p *plain) takeByte(c byte) bool {
	if p.at < len(p.text) && p.text[p.at] == c {
		p.at++
		return true
	}
	if p.space() < len(p.text) && p.text[p.at] == c {
		p.at++
		return true
	}
	return false
}

// has reads a given text. If another text follows, it returns false.
func (p *plain) has(s string) bool {
	if end := p.at + len(s); end <= len(p.text) && string(p.text[p.at:end]) == s {
		p.at = end
		return true
	}
	return false
}

// hasName skips optional space and reads a given name in quotes. If another name follows, it returns
// false.
func (p *plain) hasName(name string) bool {
	from := p.space()
	end := from + len(name) + 2
	if end <= len(p.text) && p.text[from] == '"' && p.text[end-1] == '"' && string(p.text[from+1:end-1]) == name {
		p.at = end
		return true
	}
	return false
}

// space skips optional space, and returns the offset after it.
func (p *plain) space() int {
	for p.at < len(p.text) && isBlank(p.text[p.at]) {
		p.at++
	}
	return p.at
}
