package wire

import (
	"bytes"
	"errors"
	"io"

	"github.com/varvedb/varve"
)

// lineCutter cuts a file in which each reading begins on a line of its own.
type lineCutter struct {
	buffer *buffer
	// length returns the length of the reading that begins with a line. If nil, the reading is the
	// line.
	length func(line []byte) (int, error)
	// omit reports whether a line that is not blank has no reading, such as a comment. It may be nil.
	omit func(line []byte) bool
}

func (l *lineCutter) begin(*Splitter) error { return nil }

func (l *lineCutter) at() (offset, line int64) {
	return l.buffer.offset, int64(l.buffer.line)
}

// cut adds the next line, or the reading that begins with it.
func (l *lineCutter) cut(s *Splitter, p *Piece) error {
	w := l.buffer
	text, err := w.firstLine()
	begun := len(p.Ends) > 0
	switch {
	case errors.Is(err, errLineTooLong):
		if !begun {
			p.Line = s.line()
		}
		s.leaveOut(p, varve.Reject(varve.CodeTooLarge, "the line is longer than %d bytes", maxLine))
		return w.skipLine()
	case err != nil && !errors.Is(err, io.EOF):
		return err
	case len(text) == 0:
		return io.EOF
	}
	n := len(text)
	if len(trimBlanks(text)) == 0 || l.omit != nil && l.omit(text) {
		w.consume(n)
		if begun {
			p.Data = append(p.Data, '\n') // keeps the line numbers in the piece equal to the ones in the file
		}
		return nil
	}
	if l.length != nil {
		if n, err = l.length(text); err != nil {
			return err
		}
	}
	if !begun {
		p.Line = s.line()
	}
	p.add(w.buf[w.from : w.from+n])
	w.consume(n)
	s.readings++
	return nil
}

// skip seeks to the boundary if the argument "in" is an io.Seeker. Otherwise it reads and discards the
// bytes before the boundary.
func (l *lineCutter) skip(s *Splitter, in io.Reader, to Boundary) error {
	w := l.buffer
	if seeker, ok := in.(io.Seeker); ok {
		if _, err := seeker.Seek(to.Offset, io.SeekStart); err != nil {
			return err
		}
		w.reset(in)
		w.offset = to.Offset
	}
	for w.offset < to.Offset {
		if w.to == w.from && w.err != nil {
			return w.err
		}
		if w.to == w.from {
			w.fill()
		}
		w.consume(int(min(int64(w.to-w.from), to.Offset-w.offset)))
	}
	w.line, s.readings = int(to.Line), to.Readings
	return nil
}

// rowCutter cuts a CSV file. Each piece begins with the header of the file, if Columns.Names is empty.
type rowCutter struct {
	lineCutter
	rows      rowReader
	names     []string
	omitsOpen bool // see OmitOpenRow
}

// maxOpenRow is the maximum size in bytes of a row that OmitOpenRow treats as incomplete. In a longer text,
// the open quote is assumed to be a mistake, which must not delay the rows after it.
const maxOpenRow = 16 << 10

func newRowCutter(w *buffer, c Columns) *rowCutter {
	r := &rowCutter{rows: rowReader{buffer: w, comma: []byte(string(c.comma()))}, names: c.Names}
	r.lineCutter = lineCutter{buffer: w, length: func(line []byte) (int, error) {
		if c.Name != "" {
			return r.rows.group(line, r.names, c.keyColumns(r.names)), nil
		}
		n, _ := r.rows.row(line, len(r.names)) // the server rejects a line that is not a row
		if r.omitsOpen && r.rows.isOpen && w.to-w.from <= maxOpenRow {
			return 0, io.EOF
		}
		return n, nil
	}}
	return r
}

// begin reads the header, unless Columns.Names has the names of the columns.
func (r *rowCutter) begin(s *Splitter) error {
	s.names = r.names
	if len(r.names) > 0 {
		return nil
	}
	w := r.buffer
	for {
		text, err := w.firstLine()
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if len(text) == 0 {
			return bodyErrorf("the file is empty: the first row names the columns")
		}
		if len(trimBlanks(text)) == 0 {
			w.consume(len(text))
			continue
		}
		n, bad := r.rows.row(text, 0)
		if bad != nil {
			return bodyErrorf("the header is not a row of CSV: %s", bad)
		}
		for _, cell := range r.rows.cells {
			r.names = append(r.names, string(cell))
		}
		s.names = r.names
		s.header = append(bytes.TrimRight(bytes.Clone(w.buf[w.from:w.from+n]), "\r\n"), '\n')
		w.consume(n)
		return nil
	}
}
