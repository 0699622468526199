package wire

import (
	"slices"
	"strings"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/block"
	"github.com/varvedb/varve/decimal"
)

// partWriter has the state of a RowWriter while it writes a part of a block.
type partWriter struct {
	forms      block.Forms
	properties []property      // the columns that are written to JSON
	cells      []*block.Column // the columns of RowWriter.Fields; nil for a field that the part lacks
	ambiguous  []*block.Column // the columns with ambiguous strings

	// head is a copy of usualHead with the dates of the last event time and the last arrival.
	head          [headLen]byte
	time, arrival int64 // the starts of the two dates in head, in seconds since 1970
}

// usualHead is the head of a reading whose event time has whole seconds, whose id is a hash and
// whose arrival has three decimals.
const (
	usualHead = `{"time":"2006-01-02T15:04:05Z","id":"-----------","arrived":"2006-01-02T15:04:05.000Z","fields":{`
	headLen   = len(usualHead)
	timeAt    = len(`{"time":"`)
	idAt      = timeAt + len(`2006-01-02T15:04:05Z","id":"`)
	arrivedAt = idAt + len(`-----------","arrived":"`)
	decimalAt = arrivedAt + len(`2006-01-02T15:04:05.`)
)

// property is a column that is written as a property of a JSON object.
type property struct {
	*block.Column
	key []byte // a comma, the name as a JSON string, and a colon
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
	copy(w.part.head[:], usualHead)
	w.part.time, w.part.arrival = noDate, noDate
	n := 0
	for i := range p.Columns {
		c := &p.Columns[i]
		if len(w.Fields) > 0 && !slices.Contains(w.Fields, c.Name) {
			continue
		}
		if n == len(w.part.properties) {
			w.part.properties = append(w.part.properties, property{})
		}
		m := &w.part.properties[n]
		c.Decode()
		m.Column = c
		m.key = append(AppendString(append(m.key[:0], ','), c.Name), ':')
		n++
	}
	w.part.properties = w.part.properties[:n]
}

// appendBlockReading appends a reading of a block as AppendReading does.
func (w *RowWriter) appendBlockReading(dst []byte, p *block.Part, row int, id varve.ID) []byte {
	dst = w.appendHead(dst, p.Times[row], p.Arrived[row], id)
	from := 1 // the first key has no comma
	for i := range w.part.properties {
		m := &w.part.properties[i]
		if m.Plain {
			dst = append(dst, m.key[from:]...)
			dst = decimal.AppendScaled(dst, m.Coefs[row], int(m.Least))
		} else if m.Has(row) {
			dst = append(dst, m.key[from:]...)
			dst = AppendValue(dst, m.Value(row))
		} else {
			continue
		}
		from = 0
	}
	return append(dst, '}', '}')
}

// appendHead appends a reading up to its fields.
func (w *RowWriter) appendHead(dst []byte, ns, arrived int64, id varve.ID) []byte {
	if ns >= 0 && ns%1e9 == 0 && arrived >= 0 && arrived%10 != 0 && isHash(id) {
		return w.part.appendUsual(dst, ns/1e9, arrived, id)
	}
	dst = append(dst, `{"time":"`...)
	dst = w.time.appendNano(dst, ns)
	dst = append(dst, `","id":`...)
	if isHash(id) {
		dst = append(id.Append(append(dst, '"')), '"')
	} else {
		dst = appendVersion(AppendString(dst, id.String()), id)
	}
	dst = append(dst, `,"arrived":"`...)
	dst = w.arrived.appendMilli(dst, arrived)
	return append(dst, `","fields":{`...)
}

// noDate stands for a date that is not set: it is earlier than the date of any time.
const noDate = -2 * secondsPerDay

// appendUsual appends a head in the form of usualHead. It appends a copy of w.head, and then overwrites
// the times of day and the id in the copy.
func (w *partWriter) appendUsual(dst []byte, sec, arrived int64, id varve.ID) []byte {
	arrivedSec := arrived / 1e3
	if uint64(sec-w.time) >= secondsPerDay {
		w.time = w.setDate(timeAt, sec)
	}
	if uint64(arrivedSec-w.arrival) >= secondsPerDay {
		w.arrival = w.setDate(arrivedAt, arrivedSec)
	}
	n := len(dst)
	dst = append(dst, w.head[:]...)
	h := (*[headLen]byte)(dst[n:])
	putClock((*[8]byte)(h[timeAt+clockAt:]), uint32(sec-w.time))
	id.Append(h[idAt:idAt])
	putClock((*[8]byte)(h[arrivedAt+clockAt:]), uint32(arrivedSec-w.arrival))
	ms := uint32(arrived - arrivedSec*1e3)
	h[decimalAt], h[decimalAt+1], h[decimalAt+2] = byte('0'+ms/100), byte('0'+ms/10%10), byte('0'+ms%10)
	return dst
}

// setDate writes the date of a time into the head, and returns the start of this date.
// Both times are in seconds since 1970.
func (w *partWriter) setDate(at int, sec int64) int64 {
	day := floorDiv(sec, secondsPerDay)
	putDate((*[10]byte)(w.head[at:]), day)
	return day * secondsPerDay
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
