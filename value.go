package varve

import (
	"strconv"

	"github.com/varvedb/varve/decimal"
)

// Kind says what a [Value] is.
type Kind uint8

// The kinds of value. The zero Kind is no value at all.
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

// Value is one value of a field: a number, a string, a boolean, or a JSON
// object or array. Values are immutable; copy them freely. The zero Value is
// no value and is not stored.
type Value struct {
	text string
	num  Number
	kind Kind
}

// NumberValue returns n as a value.
func NumberValue(n Number) Value { return Value{kind: KindNumber, num: n} }

// IntValue returns the integer n as a value.
func IntValue(n int64) Value { return NumberValue(decimal.FromInt(n)) }

// StringValue returns s as a value. The caller must not change its bytes.
func StringValue(s string) Value { return Value{kind: KindString, text: s} }

// BoolValue returns b as a value.
func BoolValue(b bool) Value {
	v := Value{kind: KindBool}
	if b {
		v.num = decimal.FromInt(1)
	}
	return v
}

// CanonicalJSON returns text that [JSONValue] made, and a store has kept, as a
// value again, without looking at it.
func CanonicalJSON(text string) Value { return Value{kind: KindJSON, text: text} }

// Kind returns what the value is.
func (v Value) Kind() Kind { return v.kind }

// IsZero reports whether v is no value.
func (v Value) IsZero() bool { return v.kind == 0 }

// Number returns the value of a KindNumber, else 0.
func (v Value) Number() Number {
	if v.kind != KindNumber {
		return Number{}
	}
	return v.num
}

// Int returns a number as an integer; false if it is not an integer or does
// not fit.
func (v Value) Int() (int64, bool) {
	if v.kind != KindNumber {
		return 0, false
	}
	return v.num.Int64()
}

// Bool returns the value of a KindBool, else false.
func (v Value) Bool() bool { return v.kind == KindBool && !v.num.IsZero() }

// Text returns the bytes of a KindString, or the canonical text of a KindJSON,
// else "".
func (v Value) Text() string { return v.text }

// String returns the value as a person would write it: strings without quotes,
// everything else as JSON.
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

// Equal reports whether v and w are the same value: kinds and contents alike,
// 42.0 equal to 42.
func (v Value) Equal(w Value) bool {
	if v.kind != w.kind || v.text != w.text {
		return false
	}
	return v.num.Equal(w.num)
}

// size is what the value counts towards MaxReadingBytes.
func (v Value) size() int {
	switch v.kind {
	case KindNumber:
		return 1 + v.num.Digits()
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

func (f Field) Equal(g Field) bool { return f.Name == g.Name && f.Value.Equal(g.Value) }
