package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/varvedb/varve"
)

// Piece is a part of a file that can be sent as a body of its own.
type Piece struct {
	Data     []byte
	Ends     []int // of each reading in Data
	Begin    int   // of the first one in Data
	First    int64 // the first reading's index in the file
	Line     int64 // the first reading's line in the file, from 1; 0 in JSON
	Offset   int64 // in the file, behind the last reading
	LineNext int64 // on which the reading behind the last begins
	Rejects  []PieceReject
}

// PieceReject is a reading that cannot be sent at all.
type PieceReject struct {
	Index, Line int64 // in the file
	Verdict     varve.Verdict
}

// Len returns the number of readings in the piece that can be sent.
func (p *Piece) Len() int { return len(p.Ends) }

// Text returns a reading as it stands in the file.
func (p *Piece) Text(i int) []byte {
	from := p.Begin
	if i > 0 {
		from = p.Ends[i-1]
	}
	return bytes.TrimRight(p.Data[from:p.Ends[i]], "\r\n")
}

// Only returns a piece with some of the readings, by their place in this one.
func (p *Piece) Only(which []int) Piece {
	q := Piece{Data: bytes.Clone(p.Data[:p.Begin]), Begin: p.Begin, First: p.First, Line: p.Line}
	for _, i := range which {
		q.Data = append(append(q.Data, p.Text(i)...), '\n')
		q.Ends = append(q.Ends, len(q.Data))
	}
	return q
}

// Place is where in a file to begin.
type Place struct{ Offset, Line, Readings int64 }

// Splitter cuts a file of readings into pieces. A JSON file becomes pieces of
// NDJSON.
type Splitter struct {
	most   int // readings in a piece
	bytes  int // in a piece, about
	rows   rowReader
	csv    bool
	header []byte // of CSV, with its newline; none if the columns are named otherwise
	names  []string
	json   *json.Decoder
	array  bool
	at     Place
	eof    bool
}

// NewSplitter cuts a file from its beginning; Skip goes on elsewhere. Columns
// are as for NewReader; most and size bound a piece.
func NewSplitter(f Format, in io.Reader, c Columns, most, size int) (*Splitter, error) {
	comma := c.Delimiter
	if comma == 0 {
		comma = ','
	}
	s := &Splitter{most: most, bytes: size, at: Place{Line: 1}, csv: f == CSV}
	if f == JSON {
		s.json = json.NewDecoder(in)
		s.at.Line = 0
		return s, s.beginJSON()
	}
	s.rows = rowReader{window: newWindow(in), comma: []byte(string(comma))}
	if f == CSV {
		return s, s.beginCSV(c)
	}
	return s, nil
}

// beginCSV takes the header.
func (s *Splitter) beginCSV(c Columns) error {
	if len(c.Names) > 0 {
		s.names = c.Names
		return nil
	}
	for {
		text, err := s.rows.window.peek(0)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if len(text) == 0 {
			return bodyErrorf("the file is empty: the first row names the columns")
		}
		if len(bytes.TrimSpace(text)) == 0 {
			s.take(len(text))
			continue
		}
		n, bad := s.rows.row(text, 0)
		if bad != nil {
			return bodyErrorf("the header is not a row of CSV: %s", bad)
		}
		for _, cell := range s.rows.cells {
			s.names = append(s.names, string(bytes.TrimPrefix(cell, []byte("\ufeff"))))
		}
		w := s.rows.window
		s.header = append(bytes.TrimRight(bytes.Clone(w.buf[w.from:w.from+n]), "\r\n"), '\n')
		s.take(n)
		return nil
	}
}

// take takes bytes out of the window and counts them.
func (s *Splitter) take(n int) {
	s.rows.window.take(n)
	s.at.Offset += int64(n)
	s.at.Line = int64(s.rows.window.line)
}

func (s *Splitter) beginJSON() error {
	tok, err := s.json.Token()
	if err != nil {
		return bodyErrorf("the file is not JSON: %s", err)
	}
	if tok == json.Delim('[') {
		s.array = true
		return nil
	}
	return bodyErrorf("the file is not a JSON array of readings: a file of objects, one a line, is NDJSON (--format ndjson)")
}

// Names returns the columns of a CSV file.
func (s *Splitter) Names() []string { return s.names }

// Skip goes on at a place that an earlier Splitter of the same file has been
// to, without looking at what is before it. JSON cannot be skipped quickly; it
// is read and thrown away.
func (s *Splitter) Skip(in io.Reader, to Place) error {
	if s.json != nil {
		for s.at.Readings < to.Readings {
			if _, err := s.Next(); err != nil {
				return err
			}
		}
		return nil
	}
	if seeker, ok := in.(io.Seeker); ok {
		if _, err := seeker.Seek(to.Offset, io.SeekStart); err != nil {
			return err
		}
		s.rows.window = newWindow(in)
	} else {
		for left := to.Offset - s.at.Offset; left > 0; {
			w := s.rows.window
			if w.to == w.from {
				w.fill()
			}
			n := min(int64(w.to-w.from), left)
			if n == 0 {
				return w.err
			}
			w.take(int(n))
			left -= n
		}
	}
	s.rows.window.line = int(to.Line)
	s.at = to
	return nil
}

// At returns the place behind the last piece.
func (s *Splitter) At() Place { return s.at }

// Next returns the next piece. At the end the error is io.EOF.
func (s *Splitter) Next() (Piece, error) {
	p := Piece{First: s.at.Readings, Line: s.at.Line}
	p.Data = append(p.Data, s.header...)
	p.Begin = len(p.Data)
	for !s.eof && len(p.Ends)+len(p.Rejects) < s.most && len(p.Data) < s.bytes {
		var err error
		if s.json != nil {
			err = s.element(&p)
		} else {
			err = s.line(&p)
		}
		if errors.Is(err, io.EOF) {
			s.eof = true
		} else if err != nil {
			return p, err
		}
	}
	p.Offset, p.LineNext = s.at.Offset, s.at.Line
	if len(p.Ends)+len(p.Rejects) == 0 {
		return p, io.EOF
	}
	return p, nil
}

// line adds the next line, or row, to the piece.
func (s *Splitter) line(p *Piece) error {
	w := s.rows.window
	text, err := w.peek(0)
	switch {
	case errors.Is(err, errLineTooLong):
		line := int64(w.line)
		if len(p.Ends) == 0 && len(p.Rejects) == 0 {
			p.Line = line
		}
		p.Rejects = append(p.Rejects, PieceReject{Index: s.at.Readings, Line: line,
			Verdict: varve.Reject(varve.CodeTooLarge, "the line is longer than %d bytes", maxLine)})
		s.at.Readings++
		before := w.from
		err := w.skipLine()
		s.at.Offset += int64(w.from - before)
		s.at.Line = int64(w.line)
		return err
	case err != nil && !errors.Is(err, io.EOF):
		return err
	case len(text) == 0:
		return io.EOF
	}
	n := len(text)
	if len(bytes.TrimSpace(text)) == 0 {
		s.take(n)
		return nil
	}
	if s.csv {
		n, _ = s.rows.row(text, len(s.names))
	}
	if len(p.Ends) == 0 && len(p.Rejects) == 0 {
		p.Line = int64(w.line)
	}
	p.Data = append(p.Data, bytes.TrimRight(w.buf[w.from:w.from+n], "\r\n")...)
	p.Data = append(p.Data, '\n')
	p.Ends = append(p.Ends, len(p.Data))
	s.take(n)
	s.at.Readings++
	return nil
}

// element adds the next element of a JSON array to the piece, on one line.
func (s *Splitter) element(p *Piece) error {
	if !s.json.More() {
		if _, err := s.json.Token(); err != nil {
			return fmt.Errorf("the JSON breaks off behind reading %d: %w", s.at.Readings, noEOF(err))
		}
		return io.EOF
	}
	var raw json.RawMessage
	if err := s.json.Decode(&raw); err != nil {
		return fmt.Errorf("the JSON breaks off in reading %d: %w", s.at.Readings, noEOF(err))
	}
	var line bytes.Buffer
	if err := json.Compact(&line, raw); err != nil {
		return err
	}
	p.Data = append(append(p.Data, line.Bytes()...), '\n')
	p.Ends = append(p.Ends, len(p.Data))
	s.at.Readings++
	s.at.Offset = s.json.InputOffset()
	return nil
}

// noEOF keeps an early end from being taken for the end.
func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
