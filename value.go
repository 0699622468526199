package varve

import (
	"strconv"

	"github.com/varvedb/varve/decimal"
	"github.com/varvedb/varve/internal/canonjson"
)

// Number is an exact decimal number of at most 38 significant digits.
type Number = decimal.Number

// Kind is the type of a [Value].
type Kind uint8

// The kinds of value. The zero Kind belongs to the zero Value.
const (
	KindNumber Kind = iota + 1
	KindString
	KindBool
	KindJSON
)

func (k Kind) String() string {
	switch k {
	case KindNumber:
		return "number"
	case KindString:
		return "string"
	case KindBool:
		return "boolean"
	case KindJSON:
		return "JSON"
	default:
		return "no value"
	}
}

// Value is a number, a string, a boolean, or a JSON object or array. Values are immutable and can
// be copied. The zero Value is not valid in a field.
type Value struct {
	text string
	num  Number
	kind Kind
}

// NumberValue returns n as a value.
func NumberValue(n Number) Value { return Value{kind: KindNumber, num: n} }

// IntValue returns the integer n as a value.
func IntValue(n int64) Value { return NumberValue(decimal.FromInt(n)) }

// StringValue returns s as a value. The caller must not change the bytes of s.
func StringValue(s string) Value { return Value{kind: KindString, text: s} }

// BoolValue returns b as a value.
func BoolValue(b bool) Value {
	v := Value{kind: KindBool}
	if b {
		v.num = decimal.FromInt(1)
	}
	return v
}

// CanonicalJSON returns a value for canonical text. The text must be the Text of a value that
// [JSONValue] returned, for example a stored text. CanonicalJSON does not validate it.
func CanonicalJSON(text string) Value { return Value{kind: KindJSON, text: text} }

// MaxJSONDepth is the maximum nesting of objects and arrays in a JSON value.
const MaxJSONDepth = canonjson.MaxDepth

// JSONValue returns a JSON object or array as a value in canonical form.
//
// The form has no white space, sorted members, and numbers without superfluous zeros. JSONValue fails
// if the text is not a JSON object or array in UTF-8, or is nested deeper than MaxJSONDepth. No
// member may occur twice in an object, and each number must be a valid [Number].
func JSONValue(text []byte) (Value, error) {
	form, err := canonjson.Format(text)
	if err != nil {
		return Value{}, err
	}
	return CanonicalJSON(form), nil
}

// Kind returns the type of the value.
func (v Value) Kind() Kind { return v.kind }

// IsZero reports whether v is the zero Value.
func (v Value) IsZero() bool { return v.kind == 0 }

// Number returns the number if the kind is KindNumber, otherwise 0.
func (v Value) Number() Number {
	if v.kind != KindNumber {
		return Number{}
	}
	return v.num
}

// Int returns the value as an integer. It returns false if the value is not an integer that fits
// an int64.
func (v Value) Int() (int64, bool) {
	if v.kind != KindNumber {
		return 0, false
	}
	return v.num.Int64()
}

// Bool returns the boolean if the kind is KindBool, otherwise false.
func (v Value) Bool() bool { return v.kind == KindBool && !v.num.IsZero() }

// Text returns the string if the kind is KindString, or the canonical text if it is KindJSON.
// Otherwise it returns "".
func (v Value) Text() string { return v.text }

// String returns a string without quotes, and any other value as JSON.
func (v Value) String() string {
	switch v.kind {
	case KindNumber:
		return v.num.String()
	case KindBool:
		return strconv.FormatBool(v.Bool())
	default:
		return v.text
	}
}

// Equal reports whether v and w have the same kind and content. The number 42.0 equals 42.
func (v Value) Equal(w Value) bool {
	if v.kind != w.kind || v.text != w.text {
		return false
	}
	return v.num.Equal(w.num)
}

// size returns the number of bytes that the value adds to Reading.Size.
func (v Value) size() int {
	switch v.kind {
	case KindNumber:
		return 1 + v.num.Canonical().Digits() // 1e40 and its 41 digits have the same size
	case KindBool:
		return 1
	default:
		return len(v.text)
	}
}

// Field is one named value of a reading.
type Field struct {
	Name  string
	Value Value
}

// Equal reports whether f and g have the same name and the same value.
func (f Field) Equal(g Field) bool { return f.Name == g.Name && f.Value.Equal(g.Value) }
