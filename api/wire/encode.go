package wire

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/varvedb/varve"
)

// AppendReading appends a reading, without its series, as a JSON object.
//
// The object is {"time":…,"id":…,"arrived":…,"fields":{…}}. After the id, a correction has its version.
func AppendReading(dst []byte, r *varve.Reading) []byte {
	var w Writer
	return w.AppendReading(dst, r)
}

// Writer writes a sequence of readings faster than AppendReading. The zero Writer is ready to
// use.
type Writer struct {
	time, arrived Clock
	keys          []key // keys of the fields of the previous reading
}

// key is the name of a field and its JSON text.
type key struct {
	name string
	text []byte // the name as a JSON string, and a colon
}

// appendID appends an id as a JSON string. An id that is a hash needs no escapes.
func appendID(dst []byte, id varve.ID) []byte {
	if !isHash(id) {
		return AppendString(dst, id.String())
	}
	return append(id.Append(append(dst, '"')), '"')
}

// AppendReading appends the same bytes as the function AppendReading.
func (w *Writer) AppendReading(dst []byte, r *varve.Reading) []byte {
	dst = append(dst, `{"time":"`...)
	dst = w.time.Append(dst, r.Time)
	dst = appendVersion(appendID(append(dst, `","id":`...), r.ID), r.ID)
	dst = append(dst, `,"arrived":"`...)
	dst = w.arrived.Append(dst, r.Arrived)
	dst = append(dst, `","fields":{`...)
	for i := range r.Fields {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, w.key(i, r.Fields[i].Name)...)
		dst = AppendValue(dst, r.Fields[i].Value)
	}
	return append(dst, '}', '}')
}

// key returns the JSON text of the name of the i-th field.
func (w *Writer) key(i int, name string) []byte {
	if i == len(w.keys) {
		w.keys = append(w.keys, key{})
	}
	k := &w.keys[i]
	if k.name != name || k.text == nil {
		k.name = name
		k.text = append(AppendString(k.text[:0], name), ':')
	}
	return k.text
}

// AppendValue appends a value as JSON.
func AppendValue(dst []byte, v varve.Value) []byte {
	switch v.Kind() {
	case varve.KindNumber:
		return v.Number().Append(dst)
	case varve.KindString:
		return AppendString(dst, v.Text())
	case varve.KindBool:
		if v.Bool() {
			return append(dst, "true"...)
		}
		return append(dst, "false"...)
	case varve.KindJSON:
		return append(dst, v.Text()...)
	default:
		return append(dst, "null"...)
	}
}

const hexDigits = "0123456789abcdef"

// AppendString appends a string as JSON with the least escaping. Invalid UTF-8 becomes U+FFFD.
func AppendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			if r != utf8.RuneError || n > 1 {
				i += n
				continue
			}
			dst = append(append(dst, s[from:i]...), "\ufffd"...)
		} else {
			dst = appendEscape(append(dst, s[from:i]...), c)
		}
		i++
		from = i
	}
	return append(append(dst, s[from:]...), '"')
}

func appendEscape(dst []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	}
	return append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
}

// RowWriter writes readings as CSV rows with the given fields. AppendPart also writes JSON and NDJSON.
type RowWriter struct {
	Fields []string // names of the fields, sorted
	// Versioned adds the column _version, after id.
	Versioned bool
	// Strings adds the column StringsColumn, before arrived.
	Strings bool
	Writer
	part   partWriter
	listed []string // the fields of the row that have an ambiguous string
}

// AppendHeader appends the header: time, id, VersionColumn if Versioned is set, StringsColumn if Strings is
// set, arrived and the fields. A field with a reserved name gets the prefix "fields.", so that names are
// unique.
func (w *RowWriter) AppendHeader(dst []byte) []byte {
	dst = append(dst, "time,id"...)
	if w.Versioned {
		dst = append(dst, ","+VersionColumn...)
	}
	if w.Strings {
		dst = append(dst, ","+StringsColumn...)
	}
	dst = append(dst, ",arrived"...)
	for _, f := range w.Fields {
		dst = AppendCell(append(dst, ','), ColumnName(f))
	}
	return append(dst, '\r', '\n')
}

// FieldName returns the name of the field that a column has. It is the inverse of ColumnName.
func FieldName(column string) string {
	if reserved(column) {
		return strings.TrimPrefix(column, fieldPrefix)
	}
	return column
}

const fieldPrefix = "fields."

// ColumnName returns the name of a field's column. A reserved name gets the prefix "fields.", so that the
// column differs from the columns time, id, arrived and device.
func ColumnName(field string) string {
	if reserved(field) {
		return fieldPrefix + field
	}
	return field
}

// reserved reports whether the column of a field needs fieldPrefix. It does if the name of the field is
// time, id, arrived or device, or such a name after fieldPrefix, which may be repeated. The name device
// may have capitals.
func reserved(name string) bool {
	for strings.HasPrefix(name, fieldPrefix) {
		name = name[len(fieldPrefix):]
	}
	return name == "time" || name == "id" || name == "arrived" || strings.EqualFold(name, "device")
}

// AppendRow appends a reading as a row. A missing field is an empty cell.
//
// If the reading has a field without a column, the result "missing" is the name of the field. If the
// reading has a version and versions have no column, "missing" is VersionColumn. If it has ambiguous
// strings and these have no column, "missing" is StringsColumn.
func (w *RowWriter) AppendRow(dst []byte, r *varve.Reading) (_ []byte, missing string) {
	dst = w.time.Append(dst, r.Time)
	if dst = append(dst, ','); isHash(r.ID) {
		dst = r.ID.Append(dst)
	} else {
		dst = AppendCell(dst, r.ID.String())
	}
	if w.Versioned {
		dst = appendVersionCell(dst, r.ID)
	} else if r.ID.Version() > 0 {
		missing = VersionColumn
	}
	if w.listStrings(r.Fields); w.Strings {
		dst = w.appendStrings(dst)
	} else if len(w.listed) > 0 {
		missing = StringsColumn
	}
	dst = w.arrived.Append(append(dst, ','), r.Arrived)
	i := 0
	for _, name := range w.Fields {
		dst = append(dst, ',')
		for i < len(r.Fields) && r.Fields[i].Name < name {
			missing = r.Fields[i].Name
			i++
		}
		if i < len(r.Fields) && r.Fields[i].Name == name {
			dst = appendCellValue(dst, r.Fields[i].Value)
			i++
		}
	}
	if i < len(r.Fields) {
		missing = r.Fields[i].Name
	}
	return append(dst, '\r', '\n'), missing
}

func appendCellValue(dst []byte, v varve.Value) []byte {
	if v.Kind() == varve.KindNumber {
		return v.Number().Append(dst)
	}
	return AppendCell(dst, v.String())
}

// AppendCell appends a cell of CSV, with quotes if needed.
func AppendCell(dst []byte, s string) []byte {
	if !strings.ContainsAny(s, "\",\r\n") && strings.TrimSpace(s) == s {
		return append(dst, s...)
	}
	dst = append(dst, '"')
	dst = append(dst, strings.ReplaceAll(s, `"`, `""`)...)
	return append(dst, '"')
}

// FieldSet collects the names of the fields of readings.
type FieldSet struct {
	names     map[string]bool
	versioned bool // a reading has a version
	strings   bool // a reading has an ambiguous string
}

// SetColumns sets the columns of the rows, so that all collected readings fit.
func (w *RowWriter) SetColumns(s *FieldSet) {
	w.Fields, w.Versioned, w.Strings = s.sorted(), s.versioned, s.strings
}

// Add adds the fields of a reading.
func (s *FieldSet) Add(r *varve.Reading) {
	s.versioned = s.versioned || r.ID.Version() > 0
	for i := range r.Fields {
		if name := r.Fields[i].Name; !s.names[name] {
			s.add(name)
		}
		s.strings = s.strings || isAmbiguousValue(r.Fields[i].Value)
	}
}

// LenWith returns the number of names that the set would have with the fields of a reading. It does not
// add them.
func (s *FieldSet) LenWith(r *varve.Reading) int {
	n := len(s.names)
	for i := range r.Fields {
		if !s.names[r.Fields[i].Name] {
			n++
		}
	}
	return n
}

func (s *FieldSet) add(name string) {
	if s.names == nil {
		s.names = map[string]bool{}
	}
	s.names[strings.Clone(name)] = true
}

func (s *FieldSet) sorted() []string {
	names := make([]string, 0, len(s.names))
	for name := range s.names {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// AppendSubmission appends a reading as the JSON object of a request. The object has the device,
// and the id and the version if they are set.
func AppendSubmission(dst []byte, r *varve.Reading) []byte {
	dst = AppendString(append(dst, `{"device":`...), r.Device)
	dst = append(dst, `,"time":"`...)
	dst = append(AppendTime(dst, r.Time), '"')
	if !r.ID.IsZero() {
		dst = appendVersion(AppendString(append(dst, `,"id":`...), r.ID.String()), r.ID)
	}
	dst = append(dst, `,"fields":{`...)
	for i := range r.Fields {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(AppendString(dst, r.Fields[i].Name), ':')
		dst = AppendValue(dst, r.Fields[i].Value)
	}
	return append(dst, '}', '}')
}
