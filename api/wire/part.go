package wire

import (
	"slices"
	"strings"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/block"
	"github.com/varvedb/varve/decimal"
	"github.com/varvedb/varve/internal/snippet"
)

// partWriter has the state of a RowWriter while it writes a part of a block.
type partWriter struct {
	forms      block.Forms
	head       headWriter
	properties []property      // the columns that are written to JSON
	key        []byte          // key of one property
	cells      []*block.Column // the columns of RowWriter.Fields; nil for a field that the part lacks
	ambiguous  []*block.Column // the columns with ambiguous strings
}

// property is a column that is written as a property of a JSON object.
type property struct {
	*block.Column
	key  snippet.Snippet // a comma, the name as a JSON string, and a colon
	last int64           // in a plain column, the coefficient of the previous number
	text decimal.Short   // text of the previous number
}

// partRows is the number of readings whose ids are computed together.
const partRows = 64

// AppendPart appends the readings of a part of a block as AppendReading and AppendRow do.
//
// In JSON, a comma precedes each reading. If the argument "first" is true, the first reading has no
// comma. Only Fields are written. If Fields is empty, JSON and NDJSON have all fields. The result
// "missing" is as in AppendRow; it is empty unless the format is CSV.
func (w *RowWriter) AppendPart(dst []byte, f Format, p *block.Part, first bool) (_ []byte, missing string) {
	w.part.forms.Reset(p.Block)
	if f == CSV {
		missing = w.setCells(p)
	} else {
		w.setProperties(p)
	}
	for from := 0; from < p.Len(); from += partRows {
		for i, id := range w.part.forms.IDs(p, from, min(from+partRows, p.Len())) {
			row := p.Row(from + i)
			switch f {
			case CSV:
				dst = w.appendBlockRow(dst, p, row, id)
			case NDJSON:
				dst = append(w.appendBlockReading(dst, p, row, id), '\n')
			default:
				if !first {
					dst = append(dst, ',')
				}
				first = false
				dst = w.appendBlockReading(append(dst, '\n'), p, row, id)
			}
		}
	}
	return dst, missing
}

func (w *RowWriter) setProperties(p *block.Part) {
	w.part.head.reset()
	w.part.properties = w.part.properties[:0]
	for i := range p.Columns {
		m := property{Column: &p.Columns[i]}
		if len(w.Fields) > 0 && !slices.Contains(w.Fields, m.Name) {
			continue
		}
		if m.Decode(); m.Plain {
			m.setText(0)
		}
		w.part.key = append(AppendString(append(w.part.key[:0], ','), m.Name), ':')
		m.key = snippet.Of(w.part.key)
		w.part.properties = append(w.part.properties, m)
	}
}

// setText sets the text of the previous number of a plain column.
func (m *property) setText(coef int64) {
	m.last, m.text = coef, decimal.ShortText(coef, int(m.Least))
}

// appendBlockReading appends a reading of a block as AppendReading does.
func (w *RowWriter) appendBlockReading(dst []byte, p *block.Part, row int, id varve.ID) []byte {
	head, ok := w.part.head.append(dst, p.Times[row], p.Arrived[row], id)
	if !ok {
		head = w.appendRareHead(dst, p.Times[row], p.Arrived[row], id)
	}
	// The comma of the first key replaces the brace, which is restored at the end.
	brace := len(head) - 1
	dst = head[:brace]
	for i := range w.part.properties {
		m := &w.part.properties[i]
		if !m.Plain {
			if m.Has(row) {
				dst = AppendValue(m.key.AppendTo(dst), m.Value(row))
			}
			continue
		}
		dst = m.key.AppendTo(dst)
		if coef := m.Coefs[row]; coef != m.last {
			m.setText(coef)
		}
		if m.text.IsZero() {
			dst = decimal.AppendScaled(dst, m.last, int(m.Least))
		} else {
			dst = m.text.AppendTo(dst)
		}
	}
	if len(dst) == brace {
		dst = append(dst, '{')
	}
	dst[brace] = '{'
	return append(dst, '}', '}')
}

func isHash(id varve.ID) bool {
	_, ok := id.Hash()
	return ok
}

func (w *RowWriter) setCells(p *block.Part) (missing string) {
	w.part.cells = w.part.cells[:0]
	for _, name := range w.Fields {
		i, ok := slices.BinarySearchFunc(p.Columns, name, func(c block.Column, name string) int { return strings.Compare(c.Name, name) })
		if !ok {
			w.part.cells = append(w.part.cells, nil)
			continue
		}
		p.Columns[i].Decode()
		w.part.cells = append(w.part.cells, &p.Columns[i])
	}
	if !w.Versioned && p.HasVersions() {
		missing = VersionColumn
	}
	if w.part.ambiguous = ambiguousColumns(w.part.ambiguous[:0], p); !w.Strings && len(w.part.ambiguous) > 0 {
		missing = StringsColumn
	}
	for i := range p.Columns {
		if c := &p.Columns[i]; !slices.Contains(w.part.cells, c) && c.HasAny(p) {
			missing = c.Name
		}
	}
	return missing
}

// appendBlockRow appends a reading of a block as AppendRow does.
func (w *RowWriter) appendBlockRow(dst []byte, p *block.Part, row int, id varve.ID) []byte {
	dst = append(w.time.appendNano(dst, p.Times[row]), ',')
	if isHash(id) {
		dst = id.Append(dst)
	} else {
		dst = AppendCell(dst, id.String())
	}
	if w.Versioned {
		dst = appendVersionCell(dst, id)
	}
	if w.Strings {
		w.listBlockStrings(row)
		dst = w.appendStrings(dst)
	}
	dst = w.arrived.appendMilli(append(dst, ','), p.Arrived[row])
	for _, c := range w.part.cells {
		dst = append(dst, ',')
		switch {
		case c == nil || !c.Has(row):
		case c.Plain:
			dst = decimal.AppendScaled(dst, c.Coefs[row], int(c.Least))
		default:
			dst = appendCellValue(dst, c.Value(row))
		}
	}
	return append(dst, '\r', '\n')
}

// AddPart adds the fields of the readings of a part.
func (s *FieldSet) AddPart(p *block.Part) {
	s.versioned = s.versioned || p.HasVersions()
	for i := range p.Columns {
		c := &p.Columns[i]
		if !s.names[c.Name] && c.HasAny(p) {
			s.add(c.Name)
		}
		s.strings = s.strings || hasAmbiguous(c, p)
	}
}
