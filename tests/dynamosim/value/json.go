package value

import (
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-faster/jx"
)

// maxDepth is the largest number of nested lists and maps in a value.
const maxDepth = 32

const (
	noType   = Invalid("Supplied AttributeValue is empty, must contain exactly one of the supported datatypes")
	twoTypes = Invalid("Supplied AttributeValue has more than one datatypes set, must contain exactly one of the supported datatypes")
	tooDeep  = Invalid("Nesting Levels have exceeded supported limits: Attributes in the item have nested levels beyond supported limit")
)

// DecodeItem decodes a JSON object of attributes to an item.
func DecodeItem(d *jx.Decoder) (Item, error) { return decodeItem(d, 0) }

// Decode decodes an attribute value.
func Decode(d *jx.Decoder) (Value, error) { return decode(d, 0) }

func decodeItem(d *jx.Decoder, depth int) (Item, error) {
	it := make(Item, 0, 8)
	sorted := true
	err := d.ObjBytes(func(d *jx.Decoder, key []byte) error {
		name := string(key)
		v, err := decode(d, depth)
		if err != nil {
			return err
		}
		if n := len(it); n > 0 && it[n-1].Name >= name {
			sorted = false
		}
		it = append(it, Field{name, v})
		return nil
	})
	if err != nil {
		return nil, cause(err)
	}
	if !sorted {
		slices.SortFunc(it, func(a, b Field) int { return strings.Compare(a.Name, b.Name) })
	}
	return it, nil
}

// cause returns the Invalid error in an error of the JSON decoder, or the error itself if it has
// none.
func cause(err error) error {
	if rule, ok := errors.AsType[Invalid](err); ok {
		return rule
	}
	return err
}

func decode(d *jx.Decoder, depth int) (v Value, err error) {
	if depth > maxDepth {
		return v, tooDeep
	}
	err = d.ObjBytes(func(d *jx.Decoder, key []byte) error {
		if v.Kind != 0 {
			return twoTypes
		}
		if v.Kind = KindOf(string(key)); v.Kind == 0 {
			return d.Skip()
		}
		return v.decodeAs(d, depth)
	})
	if err == nil && v.Kind == 0 {
		err = noType
	}
	return v, cause(err)
}

func (v *Value) decodeAs(d *jx.Decoder, depth int) (err error) {
	switch v.Kind {
	case String, Number, Binary:
		return v.decodeText(d)
	case Bool:
		v.True, err = d.Bool()
		return err
	case Null:
		isNull, err := d.Bool()
		if err == nil && !isNull {
			err = Invalid("One or more parameter values were invalid: Null attribute value types must have the value of true")
		}
		return err
	case Map:
		v.Fields, err = decodeItem(d, depth+1)
		return err
	case List:
		return d.Arr(func(d *jx.Decoder) error {
			e, err := decode(d, depth+1)
			v.Elems = append(v.Elems, e)
			return err
		})
	default:
		return v.decodeSet(d)
	}
}

// decodeText decodes the text of a string, a number or binary data.
func (v *Value) decodeText(d *jx.Decoder) (err error) {
	if v.Kind == Binary {
		b, err := d.Base64()
		v.Text = string(b)
		return err
	}
	if v.Text, err = d.Str(); err == nil && v.Kind == Number {
		v.Text, err = ParseNumber(v.Text)
	}
	return err
}

var setArticles = [...]string{"An string set ", "An number set ", "Binary sets should not be empty"}

func (v *Value) decodeSet(d *jx.Decoder) error {
	err := d.Arr(func(d *jx.Decoder) error {
		e := Value{Kind: v.Kind.element()}
		err := e.decodeText(d)
		v.Elems = append(v.Elems, e)
		return err
	})
	switch {
	case err != nil:
		return err
	case len(v.Elems) == 0 && v.Kind == BinarySet:
		return invalidf("One or more parameter values were invalid: %s", setArticles[2])
	case len(v.Elems) == 0:
		return invalidf("One or more parameter values were invalid: %s may not be empty", setArticles[v.Kind-StringSet])
	}
	texts := make([]string, len(v.Elems))
	for i := range v.Elems {
		texts[i] = v.Elems[i].Text
	}
	if sortSet(v.Elems) {
		return invalidf("One or more parameter values were invalid: Input collection [%s] contains duplicates.", strings.Join(texts, ", "))
	}
	return nil
}

// Append appends the JSON of an item.
func (it Item) Append(w *jx.Writer) {
	w.RawStr("{")
	for i := range it {
		if i > 0 {
			w.RawStr(",")
		}
		w.Str(it[i].Name)
		w.RawStr(":")
		it[i].Value.Append(w)
	}
	w.RawStr("}")
}

// JSON returns the JSON of an item.
func (it Item) JSON() []byte {
	w := jx.Writer{Buf: make([]byte, 0, 64*len(it)+64)}
	it.Append(&w)
	return w.Buf
}

var openings = [...]string{"", `{"S":`, `{"N":"`, `{"B":"`, `{"BOOL":`, `{"NULL":true`, `{"L":[`, `{"M":`, `{"SS":[`, `{"NS":[`, `{"BS":[`}

// Append appends the JSON of a value.
func (v *Value) Append(w *jx.Writer) {
	w.RawStr(openings[v.Kind])
	switch v.Kind {
	case Bool:
		w.Bool(v.True)
	case String, Number, Binary:
		v.appendText(w)
		if v.Kind != String {
			w.RawStr(`"`)
		}
	case Map:
		v.Fields.Append(w)
	case Null: // the text in openings is complete, except for the closing brace
	default:
		v.appendElements(w)
	}
	w.RawStr("}")
}

// appendText appends the text of a value, with quotes if it is a string.
func (v *Value) appendText(w *jx.Writer) {
	switch v.Kind {
	case String:
		w.Str(v.Text)
	case Number:
		w.RawStr(v.Text)
	default:
		w.Buf = base64.StdEncoding.AppendEncode(w.Buf, []byte(v.Text))
	}
}

func (v *Value) appendElements(w *jx.Writer) {
	for i := range v.Elems {
		if i > 0 {
			w.RawStr(",")
		}
		e := &v.Elems[i]
		switch v.Kind {
		case List:
			e.Append(w)
		case StringSet:
			e.appendText(w)
		default:
			w.RawStr(`"`)
			e.appendText(w)
			w.RawStr(`"`)
		}
	}
	w.RawStr("]")
}

// ParseItem decodes the JSON of an item, which Append wrote.
func ParseItem(data []byte) (Item, error) {
	d := jx.GetDecoder()
	defer jx.PutDecoder(d)
	d.ResetBytes(data)
	it, err := DecodeItem(d)
	if err != nil {
		return nil, fmt.Errorf("parse item: %w", err)
	}
	return it, nil
}
