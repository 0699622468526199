package wire

import (
	"slices"
	"strconv"
	"strings"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/block"
	"github.com/varvedb/varve/decimal"
)

var columnsEntry = entry{title: "columns", name: "columns", media: []string{"application/vnd.varve.columns+json"}}

// maxColumnBytes limits the text of an answer in columns, which stays in memory until the answer is
// complete.
const maxColumnBytes = 8 << 20

var errColumnsTooLarge = varve.InvalidParam("query.format",
	"columns of more than %d MiB are not held in memory: use ndjson, or a limit and the cursor next", maxColumnBytes>>20)

// ColumnSet collects readings as columns of JSON. The zero ColumnSet is ready to use.
//
// The object is {"time":[…],"id":[…],"arrived":[…],"fields":{"temperature":[…],…}}. All arrays
// have the same length. If a reading has a version, the array version follows id, with null for
// readings without a version. A reading without a field has null in the array of the field. Fields are
// in an object of their own, because a field may be named time, id or arrived.
type ColumnSet struct {
	only              []string // if not empty, the set has only these fields
	rows              int
	time, id, arrived []byte // JSON texts of the values, each after a comma
	version           fieldText
	clock, arrivals   Clock
	fields            []fieldText
	index             map[string]int // position of each field in the list fields, by name
	forms             block.Forms
}

// fieldText is the text of one column: its values, each after a comma.
type fieldText struct {
	name string
	text []byte
	rows int
}

// NewColumnSet returns a set. If the argument "only" is not empty, the set has only the fields in it.
func NewColumnSet(only []string) *ColumnSet {
	s := &ColumnSet{only: only}
	for _, name := range only {
		s.field(name)
	}
	return s
}

// Len returns the number of readings.
func (s *ColumnSet) Len() int { return s.rows }

// field returns the column of a field, and adds the column if it is missing. If the field is not
// requested, it returns nil.
func (s *ColumnSet) field(name string) *fieldText {
	if i, ok := s.index[name]; ok {
		return &s.fields[i]
	}
	if len(s.only) > 0 && !slices.Contains(s.only, name) {
		return nil
	}
	if s.index == nil {
		s.index = map[string]int{}
	}
	name = strings.Clone(name)
	s.index[name] = len(s.fields)
	s.fields = append(s.fields, fieldText{name: name})
	return &s.fields[len(s.fields)-1]
}

// pad appends nulls up to a number of rows.
func (f *fieldText) pad(rows int) {
	for ; f.rows < rows; f.rows++ {
		f.text = append(f.text, ",null"...)
	}
}

// addValue appends the value of a row to a column, after nulls for earlier rows without a value.
func (s *ColumnSet) addValue(f *fieldText, row int, v varve.Value) {
	f.pad(row)
	f.text = AppendValue(append(f.text, ','), v)
	f.rows++
}

// Add adds readings. It fails if the text becomes too large.
func (s *ColumnSet) Add(readings []varve.Reading) error {
	for i := range readings {
		r := &readings[i]
		s.addHead(s.rows, r.Time.UnixNano(), r.Arrived.UnixMilli(), r.ID)
		for j := range r.Fields {
			if f := s.field(r.Fields[j].Name); f != nil {
				s.addValue(f, s.rows, r.Fields[j].Value)
			}
		}
		s.rows++
		if s.rows%partRows == 0 {
			if err := s.check(); err != nil {
				return err
			}
		}
	}
	return s.check()
}

func (s *ColumnSet) addHead(row int, ns, arrived int64, id varve.ID) {
	s.time = append(s.clock.appendNano(append(s.time, ',', '"'), ns), '"')
	s.arrived = append(s.arrivals.appendMilli(append(s.arrived, ',', '"'), arrived), '"')
	if isHash(id) {
		s.id = append(id.Append(append(s.id, ',', '"')), '"')
	} else {
		s.id = AppendString(append(s.id, ','), id.String())
	}
	if version := id.Version(); version > 0 {
		s.version.pad(row)
		s.version.text = strconv.AppendUint(append(s.version.text, ','), uint64(version), 10)
		s.version.rows++
	}
}

// AddPart adds the readings of a part of a block. It fails if the text becomes too large.
func (s *ColumnSet) AddPart(p *block.Part) error {
	s.forms.Reset(p.Block)
	for from := 0; from < p.Len(); from += partRows {
		to := min(from+partRows, p.Len())
		for i, id := range s.forms.IDs(p, from, to) {
			row := p.Row(from + i)
			s.addHead(s.rows+i, p.Times[row], p.Arrived[row], id)
		}
		for i := range p.Columns {
			s.addColumn(&p.Columns[i], p, from, to)
		}
		s.rows += to - from
		if err := s.check(); err != nil {
			return err
		}
	}
	return nil
}

func (s *ColumnSet) addColumn(c *block.Column, p *block.Part, from, to int) {
	var f *fieldText
	for k := from; k < to; k++ {
		row := p.Row(k)
		if !c.Has(row) {
			continue
		}
		if f == nil {
			if f = s.field(c.Name); f == nil {
				return
			}
			c.Decode()
		}
		if at := s.rows + k - from; c.Plain && f.rows == at {
			f.text = decimal.AppendScaled(append(f.text, ','), c.Coefs[row], int(c.Least))
			f.rows++
		} else {
			s.addValue(f, at, c.Value(row))
		}
	}
}

// check fails if the text, including the nulls that are still missing, is too large.
func (s *ColumnSet) check() error {
	size := len(s.time) + len(s.id) + len(s.arrived) + len(s.version.text)
	for i := range s.fields {
		f := &s.fields[i]
		size += len(f.text) + (s.rows-f.rows)*len(",null")
	}
	if size > maxColumnBytes {
		return errColumnsTooLarge
	}
	return nil
}

// AppendTo appends the object of all readings, without its closing brace. The set must not be used
// afterward, because AppendTo frees the texts of the fields.
func (s *ColumnSet) AppendTo(dst []byte) []byte {
	dst = appendArray(append(dst, `{"time":`...), s.time)
	dst = appendArray(append(dst, ",\n\"id\":"...), s.id)
	if s.version.rows > 0 {
		s.version.pad(s.rows)
		dst = appendArray(append(dst, ",\n\"version\":"...), s.version.text)
	}
	dst = appendArray(append(dst, ",\n\"arrived\":"...), s.arrived)
	dst = append(dst, ",\n\"fields\":{"...)
	slices.SortFunc(s.fields, func(a, b fieldText) int { return strings.Compare(a.name, b.name) })
	for i := range s.fields {
		f := &s.fields[i]
		f.pad(s.rows)
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(AppendString(append(dst, '\n'), f.name), ':')
		dst = appendArray(dst, f.text)
		f.text = nil // frees the memory, because dst has a copy
	}
	return append(dst, '}')
}

// appendArray appends values, each after a comma, as an array.
func appendArray(dst, values []byte) []byte {
	dst = append(dst, '[')
	if len(values) > 0 {
		dst = append(dst, values[1:]...)
	}
	return append(dst, ']')
}
