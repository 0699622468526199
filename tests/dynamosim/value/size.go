package value

// Sizes of parts of an item. Source: "DynamoDB item sizes and formats".
const (
	documentBytes = 3 // bytes of a map or a list without its elements
	elementBytes  = 1 // additional bytes for each element of a map or a list
)

// Size returns the size of an item in bytes, as Amazon bills it.
func (it Item) Size() (n int) {
	for i := range it {
		n += len(it[i].Name) + it[i].Value.Size()
	}
	return n
}

// Size returns the size of a value without its name.
func (v *Value) Size() (n int) {
	switch v.Kind {
	case Bool, Null:
		return 1
	case Number:
		return numberSize(v.Text)
	case List:
		n = documentBytes + elementBytes*len(v.Elems)
	case Map:
		return documentBytes + elementBytes*len(v.Fields) + v.Fields.Size()
	default: // the size of a text is its length, and the size of a set is the sum of the sizes of its members
	}
	for i := range v.Elems {
		n += v.Elems[i].Size()
	}
	return n + len(v.Text)
}

// Length returns the result of the function size. That is the length of a text, or the number of
// elements. The result "ok" is false if the kind of the value has no length.
func (v *Value) Length() (n int, ok bool) {
	switch v.Kind {
	case String, Binary:
		return len(v.Text), true
	case List, StringSet, NumberSet, BinarySet:
		return len(v.Elems), true
	case Map:
		return len(v.Fields), true
	default:
		return 0, false
	}
}
