package wire

import (
	"bytes"
	"errors"
	"strconv"
	"unicode/utf8"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/decimal"
)

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

// word reads the text of a value without quotes.
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

// plainValue reads a value if it is a plain number, a boolean or a string. Otherwise it returns
// false.
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

func (p *pointScan) number() (varve.Value, varve.Verdict) {
	if n, ok := p.plainNumber(); ok {
		return varve.NumberValue(n), varve.Verdict{}
	}
	return p.anyNumber()
}

// plainNumber reads a number of up to 18 digits without an exponent. A whole number may have the suffix i.
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

// anyNumber reads a number that plainNumber cannot read, or rejects it.
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

// parseLineNumber parses a number in any notation of line protocol: 1i, 1u, .5, 5., 007 and 1e3.
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

// syntaxError replaces any error with decimal.ErrSyntax. If err is nil, it returns nil.
func syntaxError(err error) error {
	if err != nil {
		return decimal.ErrSyntax
	}
	return nil
}

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

// unescapeString returns the string from an offset up to its closing quote, and the offset after this
// quote. It returns nil if the string has no end.
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

// stringEscapes has the bytes that follow a backslash in a string, and their meaning.
var stringEscapes = map[byte]byte{'"': '"', '\\': '\\', 'n': '\n', 'r': '\r', 't': '\t'}
