// Package value implements the data of DynamoDB items: attribute values, their JSON, order and
// size.
//
//	JSON of a request ── Decode ── Value ── Append ── JSON of an answer
//	                                 │
//	                                 ├── Size      bytes that Amazon bills
//	                                 └── SortKey   bytes that sort as the values do
//
// [Value] is one attribute value, and [Item] the attributes of an item.
//
// These rules always hold:
//
//   - A Value is a tree. The fields of maps and the members of sets are sorted. So equal values
//     have equal trees, and fields are found by binary search.
//   - Numbers are stored as texts in canonical form.
//   - A decoded value is valid according to Amazon's rules.
//
// [Invalid] is the error for other values, with Amazon's message. Sources: Amazon DynamoDB
// developer guide, "Constraints in Amazon DynamoDB", "Supported data types and naming rules" and
// "DynamoDB item sizes and formats".
package value

import (
	"fmt"
	"slices"
	"strings"
)

// Kind is the type of an attribute value.
type Kind byte

// The kinds of attribute values.
const (
	String Kind = iota + 1
	Number
	Binary
	Bool
	Null
	List
	Map
	StringSet
	NumberSet
	BinarySet
)

var kindNames = [...]string{"", "S", "N", "B", "BOOL", "NULL", "L", "M", "SS", "NS", "BS"}

// String returns the name of the kind, as in JSON.
func (k Kind) String() string { return kindNames[k] }

// KindOf returns the kind with the given name, or 0 if no kind has the name.
func KindOf(name string) Kind {
	return Kind(max(slices.Index(kindNames[:], name), 0))
}

// IsSet reports whether values of a kind are sets.
func (k Kind) IsSet() bool { return k >= StringSet }

// element returns the kind of the members of a set of kind k.
func (k Kind) element() Kind { return k - StringSet + String }

// Value is an attribute value.
type Value struct {
	Kind   Kind
	True   bool    // the boolean of a Bool
	Text   string  // a String, a Number in canonical form, or the bytes of a Binary
	Elems  []Value // the elements of a List, or the sorted members of a set
	Fields Item    // the fields of a Map
}

// Field is a named value.
type Field struct {
	Name  string
	Value Value
}

// Item has the attributes of an item or the fields of a map, sorted by name.
type Item []Field

// search returns the index of a name. If the name is missing, it returns the index at which it
// would be inserted.
func (it Item) search(name string) (int, bool) {
	return slices.BinarySearchFunc(it, name, func(f Field, name string) int { return strings.Compare(f.Name, name) })
}

// Get returns the value of an attribute, or nil if it is missing. The value is a part of the item, so
// only the owner of the item may change it.
func (it Item) Get(name string) *Value {
	if i, found := it.search(name); found {
		return &it[i].Value
	}
	return nil
}

// Set sets an attribute and returns the item. It may change the given item.
func (it Item) Set(name string, v Value) Item {
	i, found := it.search(name)
	if found {
		it[i].Value = v
		return it
	}
	return slices.Insert(it, i, Field{name, v})
}

// Remove removes an attribute and returns the item. It may change the given item.
func (it Item) Remove(name string) Item {
	if i, found := it.search(name); found {
		return slices.Delete(it, i, i+1)
	}
	return it
}

// Clone returns a deep copy of an item.
func (it Item) Clone() Item {
	if it == nil {
		return nil
	}
	c := make(Item, len(it), len(it)+4)
	for i, f := range it {
		c[i] = Field{f.Name, f.Value.Clone()}
	}
	return c
}

// Clone returns a deep copy of a value.
func (v Value) Clone() Value {
	v.Fields = v.Fields.Clone()
	v.Elems = slices.Clone(v.Elems)
	if v.Kind == List {
		for i := range v.Elems {
			v.Elems[i] = v.Elems[i].Clone()
		}
	}
	return v
}

// Equal reports whether two values are equal.
func (v *Value) Equal(w *Value) bool {
	if v.Kind != w.Kind || v.True != w.True || v.Text != w.Text || len(v.Elems) != len(w.Elems) || len(v.Fields) != len(w.Fields) {
		return false
	}
	for i := range v.Elems {
		if !v.Elems[i].Equal(&w.Elems[i]) {
			return false
		}
	}
	for i := range v.Fields {
		if v.Fields[i].Name != w.Fields[i].Name || !v.Fields[i].Value.Equal(&w.Fields[i].Value) {
			return false
		}
	}
	return true
}

// Compare orders two values of the same kind. The result "ok" is false if the kind has no order.
// Only strings, numbers and binary data have one.
func (v *Value) Compare(w *Value) (order int, ok bool) {
	if v.Kind != w.Kind || v.Kind > Binary {
		return 0, false
	}
	if v.Kind == Number {
		return compareNumbers(v.Text, w.Text), true
	}
	return strings.Compare(v.Text, w.Text), true
}

// SortKey returns bytes that sort in the order of the values. The value must be a string, a
// number or binary data.
func (v *Value) SortKey() string {
	if v.Kind == Number {
		return numberKey(v.Text)
	}
	return v.Text
}

// sortSet sorts the members of a set. It returns whether two members are equal.
func sortSet(elems []Value) (doubled bool) {
	slices.SortFunc(elems, func(a, b Value) int {
		order, _ := a.Compare(&b)
		return order
	})
	for i := 1; i < len(elems); i++ {
		if elems[i].Text == elems[i-1].Text {
			return true
		}
	}
	return false
}

// Union returns a set with the members of either set.
func (v Value) Union(w *Value) Value {
	v.Elems = append(slices.Clone(v.Elems), w.Elems...)
	sortSet(v.Elems)
	v.Elems = slices.CompactFunc(v.Elems, func(a, b Value) bool { return a.Text == b.Text })
	return v
}

// Without returns the set without the members of w.
func (v Value) Without(w *Value) Value {
	v.Elems = slices.DeleteFunc(slices.Clone(v.Elems), func(e Value) bool { return w.HasMember(&e) })
	return v
}

// HasMember reports whether a set or a list contains a value.
func (v *Value) HasMember(w *Value) bool {
	return slices.ContainsFunc(v.Elems, func(e Value) bool { return e.Equal(w) })
}

// Invalid is the error for a value that breaks a rule of Amazon. Its text is Amazon's message.
type Invalid string

// Error implements error.
func (e Invalid) Error() string { return string(e) }

func invalidf(format string, args ...any) error { return Invalid(fmt.Sprintf(format, args...)) }
