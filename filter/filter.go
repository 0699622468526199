// Package filter selects readings by the values of their fields.
//
//	temperature > 30 and level = error ──▶ Parse ──▶ Filter ──▶ Matches(reading)
//
// The main types and functions:
//
//   - [Parse] parses the conditions of a user.
//   - [Filter] is a list of conditions that must all be true.
//   - [Condition] compares one field with a value.
//   - [Profile] records the compared fields and kinds, to explain why a filter matches nothing.
//
// These rules always hold:
//
//   - Comparisons are exact.
//   - A condition never matches a reading without its field.
//   - [Filter.String] returns a text in the syntax of Parse.
//
// Parse fails for an invalid text, or for more than [MaxConditions] conditions. The error has the
// remedy. Matching cannot fail. Goroutines may share a Filter, but not a Profile.
package filter

import (
	"slices"
	"strings"

	"github.com/varvedb/varve"
)

// Bounds of a filter.
const (
	MaxConditions = 16   // largest number of conditions in a filter
	MaxText       = 4096 // largest length of each text that Parse accepts, in bytes
)

// Filter is a list of conditions that must all be true. The empty Filter matches every reading.
type Filter []Condition

// Condition compares a field with a value.
type Condition struct {
	Field    string
	Operator Operator
	Value    varve.Value // a number, a string or a boolean
}

// Operator selects the comparison of a condition, such as >=.
type Operator uint8

// The comparisons. Less and the next three need a number or a string, and do not match values of
// another kind. NotEqual matches values of another kind.
const (
	Equal Operator = iota + 1
	NotEqual
	Less
	LessOrEqual
	Greater
	GreaterOrEqual
)

// operators lists the texts of the operators, in descending order of length.
var operators = []struct {
	text string
	op   Operator
}{{"!=", NotEqual}, {"<=", LessOrEqual}, {">=", GreaterOrEqual}, {"=", Equal}, {"<", Less}, {">", Greater}}

func (o Operator) String() string {
	for _, known := range operators {
		if known.op == o {
			return known.text
		}
	}
	return "none"
}

// Matches reports whether all conditions are true for a reading.
func (f Filter) Matches(r *varve.Reading) bool {
	for i := range f {
		if !f[i].matches(r.Field(f[i].Field)) {
			return false
		}
	}
	return true
}

// Fields returns the names of the fields of the conditions.
func (f Filter) Fields() (names []string) {
	for i := range f {
		if !slices.Contains(names, f[i].Field) {
			names = append(names, f[i].Field)
		}
	}
	return names
}

// matches reports whether the condition is true for a value, which may be missing.
func (c *Condition) matches(v varve.Value) bool {
	if v.IsZero() {
		return false
	}
	if c.Operator == Equal || c.Operator == NotEqual {
		return v.Equal(c.Value) == (c.Operator == Equal)
	}
	var order int
	switch {
	case v.Kind() != c.Value.Kind():
		return false
	case v.Kind() == varve.KindNumber:
		order = v.Number().Compare(c.Value.Number())
	case v.Kind() == varve.KindString:
		order = strings.Compare(v.Text(), c.Value.Text())
	default:
		return false
	}
	switch c.Operator {
	case Less:
		return order < 0
	case LessOrEqual:
		return order <= 0
	case Greater:
		return order > 0
	default:
		return order >= 0
	}
}
