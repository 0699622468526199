package export

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/internal/fileerr"
)

// rows are the rows of an answer in CSV, as text. So no value is parsed.
type rows struct {
	columns []string // the cells of the header as written, with the device's column first
	device  []byte   // the cell of the device in all rows; nil if each row has a cell of its own
	text    []byte
}

// addRows adds an answer in CSV. If the argument "device" is not empty, all rows belong to this device,
// and the answer has no column for it.
func (o *output) addRows(text []byte, device string) error {
	header, rest := cutRow(text)
	r := rows{text: slices.Clone(rest)}
	if device != "" {
		r.device = wire.AppendCell(nil, device)
		r.columns = append(r.columns, "device")
	}
	for _, cell := range splitRow(nil, header) {
		r.columns = append(r.columns, string(cell))
	}
	if len(r.columns) < 4 || r.columns[0] != "device" || !slices.Contains(r.columns, lastHead) {
		return fmt.Errorf("the answer has an unknown header: %.80q", header)
	}
	if len(r.text) > 0 {
		o.rows, o.held = append(o.rows, r), o.held+int64(len(r.text))
	}
	for len(rest) > 0 {
		_, rest = cutRow(rest)
		o.n++
	}
	return nil
}

// cutRow returns the first row with its end, and the text after it. A line break in a quoted cell does
// not end a row.
func cutRow(text []byte) (row, rest []byte) {
	for end, quotes := 0, 0; ; {
		n := bytes.IndexByte(text[end:], '\n') + 1
		if n == 0 {
			return text, nil
		}
		quotes += bytes.Count(text[end:end+n], []byte{'"'})
		if end += n; quotes%2 == 0 {
			return text[:end], text[end:]
		}
	}
}

// splitRow appends the cells of a row to a list. They keep their quotes.
func splitRow(cells [][]byte, row []byte) [][]byte {
	row = bytes.TrimSuffix(row, []byte("\r\n"))
	from, quoted := 0, false
	for i, c := range row {
		switch {
		case c == '"':
			quoted = !quoted
		case c == ',' && !quoted:
			cells = append(cells, row[from:i])
			from = i + 1
		}
	}
	return append(cells, row[from:])
}

// lastHead is the last column before the fields.
const lastHead = "arrived"

// headColumns are the possible columns before the fields, in their order.
var headColumns = []string{"device", "time", "id", wire.VersionColumn, wire.StringsColumn, lastHead}

// joinColumns returns the columns of a file that has the given rows. The fields are in order of their names,
// after the columns that each reading has.
func joinColumns(all []rows) []string {
	heads := map[string]bool{}    // the columns before the fields
	fields := map[string]string{} // the cell of the header for each field
	for i := range all {
		columns := all[i].columns
		n := slices.Index(columns, lastHead) + 1
		for _, column := range columns[:n] {
			heads[column] = true
		}
		for _, column := range columns[n:] {
			fields[fieldOf(column)] = column
		}
	}
	columns := slices.DeleteFunc(slices.Clone(headColumns), func(column string) bool { return !heads[column] })
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		columns = append(columns, fields[name])
	}
	return columns
}

// fieldOf returns the name of the field of a column, given the cell of the header.
func fieldOf(cell string) string {
	if inner, quoted := strings.CutPrefix(cell, `"`); quoted {
		cell = strings.ReplaceAll(strings.TrimSuffix(inner, `"`), `""`, `"`)
	}
	return wire.FieldName(cell)
}

// writeTo writes the rows with the given columns, which include the columns of the rows.
func (r *rows) writeTo(w *bufio.Writer, columns []string) error {
	same := slices.Equal(r.columns, columns)
	if same && r.device == nil {
		_, err := w.Write(r.text)
		return err
	}
	from := make([]int, len(columns))
	for i, column := range columns {
		from[i] = slices.Index(r.columns, column)
	}
	var cells [][]byte
	var out []byte
	for rest := r.text; len(rest) > 0; {
		var row []byte
		row, rest = cutRow(rest)
		if same {
			out = append(append(append(out[:0], r.device...), ','), row...)
		} else {
			if cells = cells[:0]; r.device != nil {
				cells = append(cells, r.device)
			}
			cells = splitRow(cells, row)
			out = appendCells(out[:0], cells, from)
		}
		if _, err := w.Write(out); err != nil {
			return err
		}
	}
	return nil
}

// appendCells appends a row of the cells with the given indexes. The index -1 means an empty cell.
func appendCells(dst []byte, cells [][]byte, indexes []int) []byte {
	for i, at := range indexes {
		if i > 0 {
			dst = append(dst, ',')
		}
		if at >= 0 && at < len(cells) {
			dst = append(dst, cells[at]...)
		}
	}
	return append(dst, '\r', '\n')
}

// closeRows writes the collected rows below one header.
func (o *output) closeRows() (written bool, err error) {
	if o.n == 0 {
		return false, nil
	}
	if err := o.create(); err != nil {
		return false, err
	}
	columns := joinColumns(o.rows)
	_, err = o.lines.WriteString(strings.Join(columns, ",") + "\r\n")
	for i := range o.rows {
		err = cmp.Or(err, o.rows[i].writeTo(o.lines, columns))
	}
	if err != nil {
		return false, fileerr.Short(err)
	}
	return o.closeLines()
}

func (o *output) create() error {
	f, err := os.Create(o.path + ".tmp")
	if err != nil {
		return fileerr.Short(err)
	}
	o.file, o.lines = f, bufio.NewWriterSize(f, 1<<20)
	return nil
}
