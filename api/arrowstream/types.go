package arrowstream

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/block"
	"github.com/varvedb/varve/decimal"
)

// ErrChanged means that a reading arrived after the types were collected, and does not fit them. It has
// a new field, it is the first reading with a version, or one of its values does not fit the type of
// the field.
var ErrChanged = errors.New("readings arrived while the answer was written: send the request again")

// Numbers selects the column type of fields whose values are all numbers.
type Numbers uint8

// The column types of number fields.
const (
	Exact  Numbers = iota // decimal128, or utf8 if the numbers of the field do not fit
	Floats                // float64, rounded to the nearest
)

// maxFields limits the columns of a stream, because each batch describes all of them.
const maxFields = 4096

// kindKey is the key in the metadata of a column. Its value is the kind of the values of the column.
const kindKey = "varve.kind"

// mixed is the value of kindKey for a column whose values have different kinds.
const mixed = "mixed"

// TypeSet collects the fields of readings and the types that they need.
type TypeSet struct {
	only   bool // if true, fields that were not requested are ignored
	device bool // if true, the first column has the device
	fields []fieldType
	index  map[string]int // position of each field in the list fields, by name
	// versioned means that at least one reading has a version.
	versioned bool
}

// fieldType has the facts about the values of a field that decide its type.
type fieldType struct {
	name     string
	kinds    [varve.KindJSON + 1]bool
	integer  int // highest number of digits before the decimal point
	written  int // highest number of digits after the decimal point, including trailing zeros
	required int // highest number of digits after the decimal point, excluding trailing zeros
}

// NewTypeSet returns a set. If the argument "only" is not empty, the set has only the fields in it.
func NewTypeSet(only []string) *TypeSet {
	s := &TypeSet{only: len(only) > 0, index: map[string]int{}}
	for _, name := range only {
		s.add(name)
	}
	return s
}

// IncludeDevice adds a first column with the device of each reading, for readings of several devices.
func (s *TypeSet) IncludeDevice() { s.device = true }

func (s *TypeSet) add(name string) *fieldType {
	if i, ok := s.index[name]; ok {
		return &s.fields[i]
	}
	name = strings.Clone(name)
	s.index[name] = len(s.fields)
	s.fields = append(s.fields, fieldType{name: name})
	return &s.fields[len(s.fields)-1]
}

// field returns the facts about a field, and adds the field if it is missing. If the field is not
// requested, it returns nil.
func (s *TypeSet) field(name string) *fieldType {
	if i, ok := s.index[name]; ok {
		return &s.fields[i]
	}
	if s.only {
		return nil
	}
	return s.add(name)
}

// Add collects the fields of a reading.
func (s *TypeSet) Add(r *varve.Reading) {
	s.versioned = s.versioned || r.ID.Version() > 0
	for i := range r.Fields {
		if f := s.field(r.Fields[i].Name); f != nil {
			f.add(r.Fields[i].Value)
		}
	}
}

// AddPart collects the fields of the readings in a part of a block.
func (s *TypeSet) AddPart(p *block.Part) {
	s.versioned = s.versioned || p.HasVersions()
	for i := range p.Columns {
		c := &p.Columns[i]
		if !c.HasAny(p) {
			continue
		}
		if f := s.field(c.Name); f != nil {
			f.addColumn(c, p)
		}
	}
}

// Check fails if the answer has more fields than an Arrow stream may have columns.
func (s *TypeSet) Check() error {
	if n := len(s.fields); n > maxFields {
		return varve.InvalidParam("query.format", "%d fields are more than the %d columns of Arrow: name some in fields, or use ndjson", n, maxFields)
	}
	return nil
}

func (f *fieldType) add(v varve.Value) {
	f.kinds[v.Kind()] = true
	if v.Kind() != varve.KindNumber {
		return
	}
	n := v.Number()
	_, _, _, exp := n.Parts()
	f.written = max(f.written, -exp)
	if n.IsZero() {
		return
	}
	f.integer = max(f.integer, n.Digits()+exp)
	if -exp > f.required {
		_, _, _, exp = n.Canonical().Parts()
		f.required = max(f.required, -exp)
	}
}

func (f *fieldType) addColumn(c *block.Column, p *block.Part) {
	switch {
	case len(c.Kinds) == 0 && c.Kind != varve.KindNumber:
		f.kinds[c.Kind] = true
	case c.Plain:
		f.addPlain(c, p)
	default:
		for row := p.From; row < p.To; row++ {
			if v := c.Value(row); !v.IsZero() {
				f.add(v)
			}
		}
	}
}

// addPlain adds the numbers of a column in which all numbers have the same exponent.
func (f *fieldType) addPlain(c *block.Column, p *block.Part) {
	c.Decode()
	least, exp := int64(0), int(c.Least)
	for _, coef := range c.Coefs[p.From:p.To] {
		least = min(least, coef, -coef)
		if -exp > f.required && coef != 0 {
			f.add(varve.NumberValue(decimal.FromScaled(coef, exp)))
		}
	}
	f.add(varve.NumberValue(decimal.FromScaled(least, exp)))
}

// kind returns the kind of all values, or 0 if the field has no values or values of several kinds. It
// also reports whether the kinds differ.
func (f *fieldType) kind() (kind varve.Kind, several bool) {
	for k, is := range f.kinds {
		switch {
		case !is:
		case kind != 0:
			return 0, true
		default:
			kind = varve.Kind(k)
		}
	}
	return kind, false
}

// scale returns the number of decimal places of a decimal type that holds all numbers of the field
// exactly. It returns false if no such type exists.
func (f *fieldType) scale() (int, bool) {
	for _, scale := range []int{f.written, f.required} {
		if f.integer+scale <= decimal.MaxDigits {
			return scale, true
		}
	}
	return 0, false
}

func (f *fieldType) column(numbers Numbers) arrow.Field {
	c := arrow.Field{Name: wire.ColumnName(f.name), Type: arrow.BinaryTypes.String, Nullable: true}
	kind, several := f.kind()
	word := strings.ToLower(kind.String())
	scale, fits := f.scale()
	switch {
	case several:
		word = mixed
	case kind == 0:
		c.Type = arrow.Null
		return c
	case kind == varve.KindBool:
		c.Type = arrow.FixedWidthTypes.Boolean
	case kind == varve.KindNumber && numbers == Floats:
		c.Type = arrow.PrimitiveTypes.Float64
	case kind == varve.KindNumber && fits:
		c.Type = &arrow.Decimal128Type{Precision: decimal.MaxDigits, Scale: int32(scale)}
	}
	c.Metadata = arrow.NewMetadata([]string{kindKey}, []string{word})
	return c
}

// schema returns the schema of a stream. After IncludeDevice, the first column is device. Then follow
// time, id and arrived, and _version if a reading has a version. The fields follow in the order of the
// set. NewWriter sorts the fields by name first.
func (s *TypeSet) schema(numbers Numbers) *arrow.Schema {
	columns := []arrow.Field{
		{Name: "time", Type: &arrow.TimestampType{Unit: arrow.Nanosecond, TimeZone: "UTC"}},
		{Name: "id", Type: arrow.BinaryTypes.String},
		{Name: "arrived", Type: &arrow.TimestampType{Unit: arrow.Millisecond, TimeZone: "UTC"}},
	}
	if s.versioned {
		columns = append(columns, arrow.Field{Name: wire.VersionColumn, Type: arrow.PrimitiveTypes.Uint32, Nullable: true})
	}
	if s.device {
		columns = slices.Insert(columns, 0, arrow.Field{Name: "device", Type: arrow.BinaryTypes.String})
	}
	for i := range s.fields {
		columns = append(columns, s.fields[i].column(numbers))
	}
	return arrow.NewSchema(columns, nil)
}

func (s *TypeSet) sort() {
	slices.SortFunc(s.fields, func(a, b fieldType) int { return strings.Compare(a.name, b.name) })
	for i := range s.fields {
		s.index[s.fields[i].name] = i
	}
}

func changed(name string) error { return fmt.Errorf("field %q: %w", name, ErrChanged) }
