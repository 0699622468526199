package wire

import (
	"bytes"
	"errors"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/decimal"
)

// pointScan reads the fields of points. As plain does, it predicts the names of the fields, and
// stores them sorted.
type pointScan struct {
	text []byte
	at   int // offset of the next byte

	shapes [fewShapes]shape // of earlier points
	last   int              // the shape of the last point
	next   int              // the shape that is replaced next
}

// openQuote is the message of a verdict on a point whose last string has no end.
const openQuote = "not a point of line protocol: a quote is not closed"

// plainFields reads the fields of a point if their names are predicted and their values are plain.
// Otherwise it returns false, and the position and the batch are as before.
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

// predicted reads fields with the names of a shape. If they differ or a value is not plain, it
// returns false, and the position and the batch are as before.
func (p *pointScan) predicted(b *Batch, s *shape) bool {
	at, size, from := p.at, b.size, b.begin()
	n := len(s.names)
	b.fields = slices.Grow(b.fields, n)[:from+n]
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

// anyFields reads fields with any names, and remembers their shape.
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

// takeKey returns a key of a tag or field, or the value of a tag, without its escapes. It ends
// before a comma, an equals sign, a space or a control character. n is the length of its text.
func takeKey(text []byte) (key []byte, n int) { return takeEscaped(text, true) }

func takeEscaped(text []byte, equals bool) (word []byte, n int) {
	var plain []byte // set if the text has an escape
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

// value reads the value of a field.
func (p *pointScan) value() (varve.Value, varve.Verdict) {
	if p.at == len(p.text) {
		return varve.Value{}, malformedPoint("the line ends in place of a value")
	}
	switch c := p.text[p.at]; {
	case c-'0' <= 9 || c == '-' || c == '.':
		return p.number()
	case c == '"':
		return p.string()
	case c|0x20 == 't' || c|0x20 == 'f':
		return p.boolean()
	}
	word := p.word()
	if isNaN(string(word)) {
		return varve.Value{}, notStorable(word)
	}
	return varve.Value{}, malformedPoint("%s is not a value: strings are quoted", clip(string(word)))
}

func notStorable(word []byte) varve.Verdict {
	return varve.Reject(varve.CodeFieldInvalid, "%s is not a number that can be stored: leave the field out", word)
}

// word reads a value up to its end.
func (p *pointScan) word() []byte {
	from := p.at
	for p.at < len(p.text) && !endsValue(p.text[p.at]) {
		p.at++
	}
	return p.text[from:p.at]
}

func endsValue(c byte) bool { return c == ',' || c == ' ' || c == '\r' || c == '\n' }

func (p *pointScan) boolean() (varve.Value, varve.Verdict) {
	word := p.word()
	switch string(word) {
	case "t", "T", "true", "True", "TRUE":
		return varve.BoolValue(true), varve.Verdict{}
	case "f", "F", "false", "False", "FALSE":
		return varve.BoolValue(false), varve.Verdict{}
	}
	return varve.Value{}, malformedPoint("%s is not a boolean: strings are quoted", clip(string(word)))
}

// plainValue reads a value if it is a plain number, a boolean or a short string without escapes.
func (p *pointScan) plainValue() (varve.Value, bool) {
	if p.at == len(p.text) {
		return varve.Value{}, false
	}
	switch c := p.text[p.at]; {
	case c-'0' <= 9 || c == '-':
		n, ok := p.plainNumber()
		return varve.NumberValue(n), ok
	case c == '"':
		v, verdict := p.string()
		return v, verdict.Outcome == 0
	case c|0x20 == 't' || c|0x20 == 'f':
		v, verdict := p.boolean()
		return v, verdict.Outcome == 0
	}
	return varve.Value{}, false
}

// number reads a number.
func (p *pointScan) number() (varve.Value, varve.Verdict) {
	if n, ok := p.plainNumber(); ok {
		return varve.NumberValue(n), varve.Verdict{}
	}
	return p.anyNumber()
}

// plainNumber reads a number of up to 18 digits without exponent.
func (p *pointScan) plainNumber() (n varve.Number, ok bool) {
	text, i := p.text, p.at
	neg := text[i] == '-'
	if neg {
		i++
	}
	first, point := i, -1
	var v int64
	for ; i < len(text) && i-first <= fewDigits; i++ {
		c := text[i]
		if c-'0' <= 9 {
			v = v*10 + int64(c-'0')
			continue
		}
		if c != '.' || point >= 0 {
			break
		}
		point = i
	}
	decimals := 0
	digits := i - first
	if point >= 0 {
		decimals, digits = i-point-1, digits-1
	}
	whole := i < len(text) && text[i] == 'i' && point < 0
	if whole {
		i++
	}
	if digits == 0 || digits > fewDigits || i < len(text) && !endsValue(text[i]) {
		return n, false
	}
	if neg {
		v = -v
	}
	p.at = i
	return decimal.FromScaled(v, -decimals), true
}

// anyNumber reads a number with an exponent, many digits or an error.
func (p *pointScan) anyNumber() (varve.Value, varve.Verdict) {
	word := p.word()
	number, err := parseLineNumber(word)
	switch {
	case err == nil:
		return varve.NumberValue(number), varve.Verdict{}
	case isNaN(string(word)):
		return varve.Value{}, notStorable(word)
	case errors.Is(err, decimal.ErrSyntax):
		return varve.Value{}, malformedPoint("%s is not a number", clip(string(word)))
	default:
		return varve.Value{}, varve.Reject(varve.CodeFieldInvalid, "%s: %s", clip(string(word)), err)
	}
}

// Errors of integers with a suffix.
var (
	errInt64  = errors.New("outside the range of a 64-bit integer")
	errUint64 = errors.New("outside the range of an unsigned 64-bit integer")
)

// parseLineNumber parses a number with any notation: 1i, 1u, .5, 5., 007 and 1e3.
func parseLineNumber(word []byte) (varve.Number, error) {
	last := len(word) - 1
	switch word[last] {
	case 'i':
		n, err := strconv.ParseInt(string(word[:last]), 10, 64)
		if errors.Is(err, strconv.ErrRange) {
			return varve.Number{}, errInt64
		}
		return decimal.FromInt(n), syntaxError(err)
	case 'u':
		n, err := strconv.ParseUint(string(word[:last]), 10, 64)
		if errors.Is(err, strconv.ErrRange) {
			return varve.Number{}, errUint64
		}
		number, wrong := decimal.New(false, 0, n, 0)
		return number, errors.Join(syntaxError(err), wrong)
	}
	mantissa, exponent := word, []byte(nil)
	if i := bytes.IndexAny(word, "eE"); i >= 0 {
		mantissa, exponent = word[:i], word[i:]
	}
	digits, neg := bytes.CutPrefix(mantissa, []byte("-"))
	if len(digits) == 0 || string(digits) == "." {
		return varve.Number{}, decimal.ErrSyntax
	}
	var plain []byte
	if neg {
		plain = append(plain, '-')
	}
	for len(digits) > 1 && digits[0] == '0' && digits[1]-'0' <= 9 {
		digits = digits[1:]
	}
	if digits[0] == '.' {
		plain = append(plain, '0')
	}
	if bytes.IndexByte(digits, '.') == len(digits)-1 {
		digits = digits[:len(digits)-1]
	}
	plain = append(plain, digits...)
	return decimal.Parse(append(plain, exponent...))
}

// syntaxError returns decimal.ErrSyntax if err is set.
func syntaxError(err error) error {
	if err != nil {
		return decimal.ErrSyntax
	}
	return nil
}

// string reads a quoted string.
func (p *pointScan) string() (varve.Value, varve.Verdict) {
	from := p.at + 1
	n := bytes.IndexByte(p.text[from:], '"')
	if n < 0 {
		return varve.Value{}, varve.Verdict{Outcome: varve.Rejected, Code: varve.CodeMalformed, Message: openQuote}
	}
	s, end := p.text[from:from+n], from+n+1
	if bytes.IndexByte(s, '\\') >= 0 {
		if s, end = unescapeString(p.text, from); s == nil {
			return varve.Value{}, varve.Verdict{Outcome: varve.Rejected, Code: varve.CodeMalformed, Message: openQuote}
		}
	}
	if !utf8.Valid(s) {
		return varve.Value{}, malformedPoint("a string is not valid UTF-8")
	}
	if end < len(p.text) && !endsValue(p.text[end]) {
		return varve.Value{}, malformedPoint("%q follows a string", p.text[end])
	}
	p.at = end
	return varve.StringValue(string(s)), varve.Verdict{}
}

// unescapeString returns the string from an offset up to its quote, and the offset after it. It
// returns nil if the string has no end.
func unescapeString(text []byte, at int) (s []byte, end int) {
	s = make([]byte, 0, 64)
	for ; at < len(text); at++ {
		c := text[at]
		if c == '"' {
			return s, at + 1
		}
		if c == '\\' && at+1 < len(text) {
			if plain, ok := stringEscapes[text[at+1]]; ok {
				c = plain
				at++
			}
		}
		s = append(s, c)
	}
	return nil, at
}

// stringEscapes holds the bytes that follow a backslash in a string, and their meaning.
var stringEscapes = map[byte]byte{'"': '"', '\\': '\\', 'n': '\n', 'r': '\r', 't': '\t'}

// stamp reads the spaces after the fields, the time and the spaces after it.
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
