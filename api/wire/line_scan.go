package wire

import (
	"unicode/utf8"

	"github.com/varvedb/varve"
)

// pointScan reads the fields of points. It predicts the names of the fields from earlier points, as the
// type plain does for JSON. It stores the fields sorted by name, unless a name has an escape.
type pointScan struct {
	text []byte
	at   int // offset in text of the next byte to read

	shapes [fewShapes]shape // the names of the fields of earlier points
	last   int              // index in shapes of the shape of the last point
	next   int              // index in shapes of the shape that is replaced next
}

// openQuote is the message of a verdict on a point whose last string has no end.
const openQuote = "not a point of line protocol: a quote is not closed"

// plainFields reads the fields of a point if an earlier point had the same names and the values are
// plain. Otherwise it returns false, and leaves p.at and the batch unchanged.
func (p *pointScan) plainFields(b *Batch) bool {
	for n := range fewShapes {
		i := (p.last + n) % fewShapes
		if s := &p.shapes[i]; len(s.order) > 0 && p.predicted(b, s) {
			p.last = i
			return true
		}
	}
	return false
}

// predicted reads fields with the names of a shape. If the names differ or a value is not plain, it
// returns false, and leaves p.at and the batch unchanged.
func (p *pointScan) predicted(b *Batch, s *shape) bool {
	at, size, from := p.at, b.size, b.begin()
	n := len(s.names)
	b.growFields(n)
	b.fields = b.fields[:from+n]
	fields := b.fields[from:]
	for i, name := range s.names {
		end := p.at + len(name)
		if end >= len(p.text) || p.text[end] != '=' || string(p.text[p.at:end]) != name {
			break
		}
		p.at = end + 1
		v, ok := p.plainValue()
		if !ok {
			break
		}
		fields[s.order[i]] = varve.Field{Name: name, Value: v}
		b.size += fieldBytes + len(name) + len(v.Text())
		more := p.at < len(p.text) && p.text[p.at] == ','
		if i < n-1 && more {
			p.at++
			continue
		}
		if i == n-1 && !more {
			return true
		}
		break
	}
	clear(fields)
	p.at, b.size, b.fields = at, size, b.fields[:from]
	return false
}

// anyFields reads fields with any names. Unless a name has an escape, it records their shape for later
// points.
func (p *pointScan) anyFields(b *Batch) varve.Verdict {
	from, plain := b.begin(), true
	for {
		key, escaped, v := p.key()
		if v.Outcome != 0 {
			return v
		}
		value, v := p.value()
		if v.Outcome != 0 {
			if v.Code == varve.CodeFieldInvalid {
				v.Message = "field " + clip(string(key)) + ": " + v.Message
			}
			return v
		}
		plain = plain && !escaped
		b.field(b.names.get(key), value)
		if p.at == len(p.text) || p.text[p.at] != ',' {
			break
		}
		p.at++
	}
	if fields := b.fields[from:]; plain && len(fields) <= varve.MaxFields {
		p.last, p.next = p.next, (p.next+1)%fewShapes
		p.shapes[p.last].learn(fields)
	}
	return varve.Verdict{}
}

// key reads the name of a field and the equals sign after it.
func (p *pointScan) key() (key []byte, escaped bool, v varve.Verdict) {
	key, n := takeKey(p.text[p.at:])
	escaped = n != len(key)
	p.at += n
	switch {
	case len(key) == 0 && p.at == len(p.text):
		return nil, false, malformedPoint("the line ends in place of a field")
	case len(key) == 0:
		return nil, false, malformedPoint("%q in place of the name of a field", p.text[p.at])
	case p.at == len(p.text) || p.text[p.at] != '=':
		return nil, false, malformedPoint("no = follows the field %s", clip(string(key)))
	case !utf8.Valid(key):
		return nil, false, malformedPoint("a name of a field is not valid UTF-8")
	}
	p.at++
	return key, escaped, varve.Verdict{}
}

// takeKey returns the key of a tag or field, or the value of a tag, without escapes. The key ends
// before a comma, an equals sign, a space or a control character. n is the length of its escaped
// text.
func takeKey(text []byte) (key []byte, n int) { return takeEscaped(text, true) }

func takeEscaped(text []byte, equals bool) (word []byte, n int) {
	var plain []byte // the word without its escapes; nil if it has no escape
	from := 0
	for n < len(text) {
		c := text[n]
		switch {
		case c == '\\' && n+1 < len(text) && (text[n+1] == ',' || text[n+1] == ' ' || equals && text[n+1] == '='):
			plain = append(append(plain, text[from:n]...), text[n+1])
			n += 2
			from = n
			continue
		case c == ',' || c == ' ' || c < ' ' || c == 0x7f || equals && c == '=':
			if plain == nil {
				return text[:n], n
			}
			return append(plain, text[from:n]...), n
		}
		n++
	}
	if plain == nil {
		return text[:n], n
	}
	return append(plain, text[from:n]...), n
}

// stamp returns the text of the time after the fields. It skips the spaces before and after the
// time.
func (p *pointScan) stamp() []byte {
	p.spaces()
	from := p.at
	for p.at < len(p.text) && (p.text[p.at]-'0' <= 9 || p.text[p.at] == '-') {
		p.at++
	}
	text := p.text[from:p.at]
	p.spaces()
	return text
}

// plainStamp reads a space and a time of up to 19 digits at the end of the point.
func (p *pointScan) plainStamp() (n uint64, ok bool) {
	text := p.text[p.at:]
	if len(text) < 2 || len(text) > 20 || text[0] != ' ' {
		return 0, false
	}
	for _, c := range text[1:] {
		if c-'0' > 9 {
			return 0, false
		}
		n = n*10 + uint64(c-'0')
	}
	return n, true
}

func (p *pointScan) spaces() {
	for p.at < len(p.text) && p.text[p.at] == ' ' {
		p.at++
	}
}
