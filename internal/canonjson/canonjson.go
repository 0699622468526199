// Package canonjson formats JSON in a canonical form, so that equal values have equal texts.
//
// The form has no white space, members sorted by name, and numbers without superfluous zeros.
// [Format] returns the form of an object or array, and [AppendString] writes one string of it.
//
// Format fails for text that is not a JSON object or array, and for invalid UTF-8. It also fails
// for a repeated member, a number outside the range of a decimal, or more than [MaxDepth] levels.
// The functions have no state.
package canonjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/varvedb/varve/decimal"
	"github.com/varvedb/varve/internal/quote"
)

// MaxDepth is the largest number of nested objects and arrays.
const MaxDepth = 16

// Format returns the canonical form of a JSON object or array.
//
// It fails for other text, invalid UTF-8, a member that occurs twice, a number outside the range of
// [decimal.Number], and nesting deeper than MaxDepth.
func Format(text []byte) (string, error) {
	if !utf8.Valid(text) { // the decoder would replace invalid bytes with U+FFFD
		return "", errors.New("the JSON value is not valid UTF-8")
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	c := canonicalizer{dec: dec}
	form, err := c.value(nil, 0)
	if err != nil {
		return "", err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return "", errors.New("more follows the JSON value")
	}
	if form[0] != '{' && form[0] != '[' {
		return "", errors.New("not a JSON object or array")
	}
	return string(form), nil
}

type canonicalizer struct{ dec *json.Decoder }

// value appends the canonical form of the next value to dst.
func (c canonicalizer) value(dst []byte, depth int) ([]byte, error) {
	tok, err := c.token()
	if err != nil {
		return nil, err
	}
	switch t := tok.(type) {
	case json.Delim:
		if depth == MaxDepth {
			return nil, fmt.Errorf("JSON nested deeper than %d", MaxDepth)
		}
		if t == '{' {
			return c.object(dst, depth+1)
		}
		return c.array(dst, depth+1)
	case json.Number:
		n, err := decimal.Parse(string(t))
		if err != nil {
			return nil, fmt.Errorf("number %s: %w", quote.Text(string(t)), err)
		}
		return n.Canonical().Append(dst), nil
	case string:
		return AppendString(dst, t), nil
	case bool:
		if t {
			return append(dst, "true"...), nil
		}
		return append(dst, "false"...), nil
	default:
		return append(dst, "null"...), nil
	}
}

// token returns the next token of the decoder. It fails at the end of the text.
func (c canonicalizer) token() (json.Token, error) {
	tok, err := c.dec.Token()
	if errors.Is(err, io.EOF) {
		err = errors.New("the JSON value is cut short")
	}
	return tok, err
}

func (c canonicalizer) array(dst []byte, depth int) ([]byte, error) {
	dst = append(dst, '[')
	for n := 0; c.dec.More(); n++ {
		if n > 0 {
			dst = append(dst, ',')
		}
		var err error
		if dst, err = c.value(dst, depth); err != nil {
			return nil, err
		}
	}
	if _, err := c.token(); err != nil { // the closing bracket
		return nil, err
	}
	return append(dst, ']'), nil
}

func (c canonicalizer) object(dst []byte, depth int) ([]byte, error) {
	type member struct {
		name string
		form []byte
	}
	var members []member
	for c.dec.More() {
		tok, err := c.token()
		if err != nil {
			return nil, err
		}
		form, err := c.value(nil, depth)
		if err != nil {
			return nil, err
		}
		// The decoder returns only names here.
		members = append(members, member{tok.(string), form})
	}
	if _, err := c.token(); err != nil { // the closing brace
		return nil, err
	}
	slices.SortFunc(members, func(a, b member) int { return strings.Compare(a.name, b.name) })
	dst = append(dst, '{')
	for i, m := range members {
		if i > 0 {
			if members[i-1].name == m.name {
				return nil, fmt.Errorf("member %s occurs twice", quote.Text(m.name))
			}
			dst = append(dst, ',')
		}
		dst = append(append(AppendString(dst, m.name), ':'), m.form...)
	}
	return append(dst, '}'), nil
}

// AppendString appends s as a JSON string. Like encoding/json, it escapes U+2028 and U+2029. Otherwise
// it escapes only the characters for which JSON requires it.
func AppendString(dst []byte, s string) []byte {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // encoding a string to a buffer cannot fail
	return append(dst, bytes.TrimSuffix(buf.Bytes(), []byte("\n"))...)
}
