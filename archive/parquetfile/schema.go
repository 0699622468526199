package parquetfile

import (
	"maps"
	"slices"
	"strings"

	"github.com/cespare/xxhash/v2"
	"github.com/parquet-go/parquet-go"

	"github.com/varvedb/varve"
)

// SchemaVersion is the version of the columns, in the metadata of each file.
const SchemaVersion = "1"

// Keys of the metadata of a file.
const (
	metaSchema = "varve.schema"
	metaTable  = "varve.table"
)

// maxColumns is the largest number of fields of a file that have columns of their own.
const maxColumns = 400

// Precisions of decimal columns, and the length of a wide one in bytes.
const (
	narrowDigits = 18
	wideDigits   = 38
	wideBytes    = 16
)

// fieldType is the type of the column of a field. For numbers, scale is the number of digits that
// they need after the point, and whole is the number of digits before it.
type fieldType struct {
	kind         varve.Kind
	scale, whole int
}

// precision returns the number of digits of a DECIMAL column of numbers: 18 or 38.
func (t fieldType) precision() int {
	if t.scale+t.whole > narrowDigits {
		return wideDigits
	}
	return narrowDigits
}

// covers reports whether a column of type t can hold all values of a column of type u.
func (t fieldType) covers(u fieldType) bool {
	return t.kind == u.kind && (t.kind != varve.KindNumber || u.scale <= t.scale && u.whole <= t.precision()-t.scale)
}

// join returns the narrowest type that covers both types, or false if none exists.
func (t fieldType) join(u fieldType) (fieldType, bool) {
	j := fieldType{kind: t.kind, scale: max(t.scale, u.scale), whole: max(t.whole, u.whole)}
	return j, t.kind == u.kind && j.scale+j.whole <= wideDigits
}

// Columns that every file has, in the order of a file.
const (
	colTenant = iota
	colStream
	colDevice
	colTime
	colArrived
	colID
	colFields // the first column of a field; if no field has a column, the column "others"
)

// layout is the schema of a file. It has the types of the columns of fields.
type layout struct {
	names []string // names of the fields, sorted
	types map[string]fieldType
	// versioned means that the file has the column of versions.
	versioned bool
}

// covers reports whether a file with the layout can hold rows of the layout m.
func (l *layout) covers(m *layout) bool {
	if m.versioned && !l.versioned {
		return false
	}
	for _, name := range m.names {
		t, ok := l.types[name]
		if !ok || !t.covers(m.types[name]) {
			return false
		}
	}
	return true
}

func newLayout(types map[string]fieldType, versioned bool) *layout {
	l := &layout{types: types, versioned: versioned}
	for name := range types {
		l.names = append(l.names, name)
	}
	slices.Sort(l.names)
	return l
}

// join returns a layout that covers m, with the columns of l where they are compatible. It returns m alone
// if the result would have too many columns, or two columns with the same field id.
func (l *layout) join(m *layout) *layout {
	types := maps.Clone(m.types)
	lower := map[string]bool{}
	for _, name := range m.names {
		lower[foldName(name)] = true
	}
	for _, name := range l.names {
		t := l.types[name]
		if needed, ok := types[name]; ok {
			if both, ok := needed.join(t); ok {
				types[name] = both
			}
			continue
		}
		if !lower[foldName(name)] {
			types[name], lower[foldName(name)] = t, true
		}
	}
	if len(types) > maxColumns || hasEqualIDs(types) {
		return m
	}
	return newLayout(types, l.versioned || m.versioned)
}

// hasEqualIDs reports whether two columns would have the same field id.
func hasEqualIDs(types map[string]fieldType) bool {
	ids := map[int]bool{}
	for name := range types {
		ids[fieldID(name)] = true
	}
	return len(ids) < len(types)
}

// foldName returns a name in lower case. Names of columns must differ in lower case, because SQL ignores
// case.
func foldName(name string) string { return strings.ToLower(name) }

// firstFieldID is the smallest id of the column of a field. All other columns have smaller ids.
const firstFieldID = 1000

// fieldID returns the id of the column of a field. It is equal in all files.
func fieldID(name string) int {
	return firstFieldID + int(xxhash.Sum64String(name)%(1<<30))
}

// ordered is a Parquet group whose columns are in the order of the list "names".
type ordered struct {
	parquet.Group
	names []string
}

// Fields returns the columns in the order of the list "names".
func (o ordered) Fields() []parquet.Field {
	fields := o.Group.Fields()
	slices.SortFunc(fields, func(a, b parquet.Field) int {
		return slices.Index(o.names, a.Name()) - slices.Index(o.names, b.Name())
	})
	return fields
}

func (l *layout) schema() *parquet.Schema {
	text := func(id int) parquet.Node {
		return parquet.FieldID(parquet.Encoded(parquet.String(), &parquet.RLEDictionary), id)
	}
	optional := func(n parquet.Node, id int) parquet.Node { return parquet.FieldID(parquet.Optional(n), id) }
	names := []string{"tenant", "stream", "device", "time", "arrived", "id"}
	root := parquet.Group{
		"tenant": text(1), "stream": text(2), "device": text(3),
		"time":     parquet.FieldID(parquet.Encoded(parquet.Timestamp(parquet.Nanosecond), &parquet.DeltaBinaryPacked), 4),
		"arrived":  parquet.FieldID(parquet.Encoded(parquet.Timestamp(parquet.Millisecond), &parquet.DeltaBinaryPacked), 5),
		"id":       optional(parquet.Encoded(parquet.String(), &parquet.DeltaLengthByteArray), 6),
		"others":   optional(parquet.Encoded(parquet.JSON(), &parquet.DeltaLengthByteArray), 8),
		"decimals": optional(parquet.Encoded(parquet.String(), &parquet.RLEDictionary), 9),
	}
	if len(l.names) > 0 {
		fields := parquet.Group{}
		for _, name := range l.names {
			fields[name] = optional(l.types[name].node(), fieldID(name))
		}
		root["fields"] = parquet.FieldID(fields, 7)
		names = append(names, "fields")
	}
	names = append(names, "others", "decimals")
	if l.versioned {
		root[versionName] = optional(parquet.Encoded(parquet.Int(64), &parquet.DeltaBinaryPacked), 10)
		names = append(names, versionName)
	}
	return parquet.NewSchema("reading", ordered{root, names})
}

func (t fieldType) node() parquet.Node {
	switch {
	case t.kind == varve.KindBool:
		return parquet.Leaf(parquet.BooleanType)
	case t.kind == varve.KindString:
		return parquet.Encoded(parquet.String(), &parquet.RLEDictionary)
	case t.kind == varve.KindJSON:
		return parquet.Encoded(parquet.JSON(), &parquet.RLEDictionary)
	case t.precision() == wideDigits:
		return parquet.Decimal(t.scale, wideDigits, parquet.FixedLenByteArrayType(wideBytes))
	default:
		return parquet.Encoded(parquet.Decimal(t.scale, narrowDigits, parquet.Int64Type), &parquet.DeltaBinaryPacked)
	}
}

// others and decimals return the indexes of the two columns after the columns of fields.
func (l *layout) others() int   { return colFields + len(l.names) }
func (l *layout) decimals() int { return colFields + len(l.names) + 1 }

// versions returns the index of the column of versions, if the layout has that column.
func (l *layout) versions() int { return colFields + len(l.names) + 2 }

func (l *layout) columns() int {
	if l.versioned {
		return l.versions() + 1
	}
	return l.decimals() + 1
}

const versionName = "version"
