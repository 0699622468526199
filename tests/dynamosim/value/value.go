// Package value is the data of DynamoDB items: attribute values, their JSON, order and size.
//
//	JSON of a request ── Decode ── Value ── Append ── JSON of an answer
//	                                 │
//	                                 ├── Size      bytes that Amazon bills
//	                                 └── SortKey   bytes that sort as the values do
//
// A Value is a tree. The fields of maps and the members of sets are sorted, so equal values have
// equal trees, and a field is found by binary search. Numbers are texts in canonical form.
//
// Invariant: a decoded value is valid by Amazon's rules. Sources: Amazon DynamoDB developer
// guide, "Constraints in Amazon DynamoDB", "Supported data types and naming rules" and "DynamoDB
// item sizes and formats".
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

// String returns the name of a kind in JSON.
func (k Kind) String() string { return kindNames[k] }

// KindOf returns the kind of a name, or 0.
func KindOf(name string) Kind {
	return Kind(max(slices.Index(kindNames[:], name), 0))
}

// IsSet reports whether values of a kind are sets.
func (k Kind) IsSet() bool { return k >= StringSet }

// element returns the kind of the members of a set.
func (k Kind) element() Kind { return k - StringSet + String }

// Value is an attribute value.
type Value struct {
	Kind   Kind
	True   bool    // of a Bool
	Text   string  // of a String, a Number in canonical form, or the bytes of a Binary
	Elems  []Value // of a List, or the sorted members of a set
	Fields Item    // of a Map
}

// Field is a named value.
type Field struct {
	Name  string
	Value Value
}

// Item is the attributes of an item or of a map, sorted by name.
type Item []Field

// search returns the index of a name, or the index at which it belongs.
func (it Item) search(name string) (int, bool) {
	return slices.BinarySearchFunc(it, name, func(f Field, name string) int { return strings.Compare(f.Name, name) })
}

// Get returns the value of an attribute, or nil. The caller must not change it.
func (it Item) Get(name string) *Value {
	if i, found := it.search(name); found {
		return &it[i].Value
	}
	return nil
}

// Set returns the item with an attribute. It changes the item in place.
func (it Item) Set(name string, v Value) Item {
	i, found := it.search(name)
	if found {
		it[i].Value = v
		return it
	}
	return slices.Insert(it, i, Field{name, v})
}

// Remove returns the item without an attribute. It changes the item in place.
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

// Equal reports whether two values are the same.
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

// Compare orders two values of one kind that have an order: strings, numbers and binaries.
func (v *Value) Compare(w *Value) (order int, ok bool) {
	if v.Kind != w.Kind || v.Kind > Binary {
		return 0, false
	}
	if v.Kind == Number {
		return compareNumbers(v.Text, w.Text), true
	}
	return strings.Compare(v.Text, w.Text), true
}

// SortKey returns bytes that sort as the values of one kind do. The kinds are the ones of keys:
// strings, numbers and binaries.
func (v *Value) SortKey() string {
	if v.Kind == Number {
		return numberKey(v.Text)
	}
	return v.Text
}

// sortSet sorts the members of a set, and reports whether two are equal.
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

// Union returns the set with the members of another.
func (v Value) Union(w *Value) Value {
	v.Elems = append(slices.Clone(v.Elems), w.Elems...)
	sortSet(v.Elems)
	v.Elems = slices.CompactFunc(v.Elems, func(a, b Value) bool { return a.Text == b.Text })
	return v
}

// Without returns the set without the members of another.
func (v Value) Without(w *Value) Value {
	v.Elems = slices.DeleteFunc(slices.Clone(v.Elems), func(e Value) bool { return w.HasMember(&e) })
	return v
}

// HasMember reports whether a set or a list contains a value.
func (v *Value) HasMember(w *Value) bool {
	return slices.ContainsFunc(v.Elems, func(e Value) bool { return e.Equal(w) })
}

// Invalid is a value that breaks a rule of Amazon. Its text is Amazon's.
type Invalid string

// Error implements error.
func (e Invalid) Error() string { return string(e) }

func invalidf(format string, args ...any) error { return Invalid(fmt.Sprintf(format, args...)) }
