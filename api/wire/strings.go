package wire

import (
	"encoding/json"
	"slices"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/block"
)

// StringsColumn is the name of the column of CSV that lists the fields with ambiguous strings. A cell is a JSON
// array of names. Only answers with such a string have the column. No field can have this name.
//
// A string is ambiguous if a cell with its text is read as another kind, as no value, or not at all.
// Examples are the strings "12", "true", "[]" and the empty string.
const StringsColumn = "_strings"

// isAmbiguous reports whether a string must be in StringsColumn.
func isAmbiguous(s string) bool {
	if s == "" {
		return true
	}
	switch c := s[0]; {
	case c-'0' <= 9, c == '-', c == '+', c == '.', c == '{', c == '[', c == 't', c == 'f', c|0x20 == 'n', c|0x20 == 'i':
		v, err := guess([]byte(s))
		return err != nil || v.Kind() != varve.KindString
	}
	return false
}

func isAmbiguousValue(v varve.Value) bool {
	return v.Kind() == varve.KindString && isAmbiguous(v.Text())
}

// ambiguousColumns appends to a list the columns of a part that have an ambiguous string.
func ambiguousColumns(list []*block.Column, p *block.Part) []*block.Column {
	for i := range p.Columns {
		if c := &p.Columns[i]; hasAmbiguous(c, p) {
			list = append(list, c)
		}
	}
	return list
}

func hasAmbiguous(c *block.Column, p *block.Part) bool {
	if c.Kind != varve.KindString && len(c.Kinds) == 0 {
		return false
	}
	for row := p.From; row < p.To; row++ {
		if c.Has(row) && isAmbiguousValue(c.Value(row)) {
			return true
		}
	}
	return false
}

// listStrings records the names of the fields of a reading that have an ambiguous string.
func (w *RowWriter) listStrings(fields []varve.Field) {
	w.listed = w.listed[:0]
	for i := range fields {
		if isAmbiguousValue(fields[i].Value) {
			w.listed = append(w.listed, fields[i].Name)
		}
	}
}

// listBlockStrings records the names of the fields of a reading of a block that have an ambiguous string.
func (w *RowWriter) listBlockStrings(row int) {
	w.listed = w.listed[:0]
	for _, c := range w.part.ambiguous {
		if c.Has(row) && isAmbiguousValue(c.Value(row)) {
			w.listed = append(w.listed, c.Name)
		}
	}
}

// appendStrings appends a comma and the cell with the recorded names. Without names, the cell is empty.
func (w *RowWriter) appendStrings(dst []byte) []byte {
	dst = append(dst, ',')
	if len(w.listed) == 0 {
		return dst
	}
	var names []byte
	for i, name := range w.listed {
		names = AppendString(append(names, "[,"[min(i, 1)]), name)
	}
	return AppendCell(dst, string(append(names, ']')))
}

// readStrings reads the cell of StringsColumn, if the body has that column.
func (c *csvReader) readStrings(cells [][]byte) varve.Verdict {
	if c.listed = c.listed[:0]; !c.hasStrings {
		return varve.Verdict{}
	}
	i := slices.IndexFunc(c.roles, func(r role) bool { return r.use == useStrings })
	if len(cells[i]) == 0 {
		return varve.Verdict{}
	}
	clear(c.listed[:cap(c.listed)]) // Unmarshal leaves an element unchanged if its text is null
	if err := json.Unmarshal(cells[i], &c.listed); err != nil {
		return varve.Reject(varve.CodeFieldInvalid, `column %s: %s is not a list of fields: write a JSON array of their names`, StringsColumn, clip(string(cells[i])))
	}
	slices.Sort(c.listed) // for isListed
	return varve.Verdict{}
}

// isListed reports whether StringsColumn lists the field of a column. If the column has another kind by
// Columns.Kinds, that kind takes precedence.
func (c *csvReader) isListed(r *role) bool {
	return len(c.listed) > 0 && r.use == useField && (r.kind == 0 || r.kind == varve.KindString) && c.lists(r.name)
}

func (c *csvReader) lists(field string) bool {
	_, found := slices.BinarySearch(c.listed, field)
	return found
}
