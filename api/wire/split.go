package wire

import (
	"bytes"
	"errors"
	"io"

	"github.com/varvedb/varve"
)

// Piece is a part of a file that can be sent as a separate body.
type Piece struct {
	Data     []byte
	Ends     []int // of each reading in Data
	Begin    int   // of the first one in Data
	First    int64 // the first reading's index in the file
	Line     int64 // the first reading's line in the file, from 1; 0 in JSON
	Offset   int64 // in the file, after the last reading
	LineNext int64 // on which the reading after the last begins
	Rejects  []PieceReject

	places []readingPlace // set if the piece contains selected readings of another piece
}

// readingPlace is the position of a reading in its file.
type readingPlace struct{ index, line int64 }

// PieceReject is a reading that cannot be sent.
type PieceReject struct {
	Index, Line int64 // in the file
	Verdict     varve.Verdict
}

// Len returns the number of readings in the piece.
func (p *Piece) Len() int { return len(p.Ends) }

// span returns the range of a reading in Data, including blank lines before it.
func (p *Piece) span(i int) (from, to int) {
	if i == 0 {
		return p.Begin, p.Ends[0]
	}
	return p.Ends[i-1], p.Ends[i]
}

// Text returns the text of a reading in the file.
func (p *Piece) Text(i int) []byte {
	from, to := p.span(i)
	return bytes.Trim(p.Data[from:to], "\r\n")
}

// Where returns the index of a reading in the file and its first line. The line is 0 in JSON.
func (p *Piece) Where(i int) (index, line int64) {
	if p.places != nil {
		return p.places[i].index, p.places[i].line
	}
	if index = p.First + int64(i); p.Line == 0 {
		return index, 0
	}
	from, to := p.span(i)
	begin := to - len(bytes.TrimLeft(p.Data[from:to], "\r\n"))
	return index, p.Line + int64(bytes.Count(p.Data[p.Begin:begin], []byte{'\n'}))
}

// AtLine returns the reading that contains a line of Data, counted from 1. It returns -1 if none
// does.
func (p *Piece) AtLine(line int64) int {
	seen := int64(bytes.Count(p.Data[:p.Begin], []byte{'\n'}))
	for i := range p.Ends {
		from, to := p.span(i)
		if seen += int64(bytes.Count(p.Data[from:to], []byte{'\n'})); line <= seen {
			return i
		}
	}
	return -1
}

// Only returns a piece with the selected readings. Their places in the file are kept.
func (p *Piece) Only(which []int) Piece {
	q := Piece{Data: bytes.Clone(p.Data[:p.Begin]), Begin: p.Begin, First: p.First, Line: p.Line}
	for _, i := range which {
		q.add(p.Text(i))
		index, line := p.Where(i)
		q.places = append(q.places, readingPlace{index, line})
	}
	return q
}

// Place is a position in a file from which a Splitter continues.
type Place struct{ Offset, Line, Readings int64 }

// Splitter cuts a file of readings into pieces. A JSON file becomes pieces of NDJSON.
// All pieces together have the readings of the file.
type Splitter struct {
	most     int // maximum number of readings in a piece
	bytes    int // approximate size of a piece
	format   Format
	rows     rowReader
	array    array
	header   []byte // header of CSV with its newline; empty if the columns are named separately
	names    []string
	long     bool  // several rows are one reading
	key      []int // of the columns that identify a reading in the long form
	readings int64 // number so far
	err      error // error after the last piece
}

// NewSplitter cuts a file from its start, or from another place after Skip. Columns
// are as for NewReader; most and size limit a piece.
func NewSplitter(f Format, in io.Reader, c Columns, most, size int) (*Splitter, error) {
	comma := c.Delimiter
	if comma == 0 {
		comma = ','
	}
	w := newWindow(in)
	s := &Splitter{most: most, bytes: size, format: f, rows: rowReader{window: w, comma: []byte(string(comma))}, array: array{window: w}}
	switch f {
	case JSON:
		return s, s.beginJSON()
	case CSV:
		return s, s.beginCSV(c)
	default:
		return s, nil
	}
}

// beginCSV reads the header.
func (s *Splitter) beginCSV(c Columns) error {
	s.long = c.Name != ""
	if len(c.Names) > 0 {
		s.names, s.key = c.Names, c.keyColumns(c.Names)
		return nil
	}
	for {
		text, err := s.rows.window.first()
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if len(text) == 0 {
			return bodyErrorf("the file is empty: the first row names the columns")
		}
		if len(trimBlanks(text)) == 0 {
			s.rows.window.take(len(text))
			continue
		}
		n, bad := s.rows.row(text, 0)
		if bad != nil {
			return bodyErrorf("the header is not a row of CSV: %s", bad)
		}
		for _, cell := range s.rows.cells {
			s.names = append(s.names, string(cell))
		}
		s.key = c.keyColumns(s.names)
		w := s.rows.window
		s.header = append(bytes.TrimRight(bytes.Clone(w.buf[w.from:w.from+n]), "\r\n"), '\n')
		w.take(n)
		return nil
	}
}

// beginJSON reads the opening bracket.
func (s *Splitter) beginJSON() error {
	s.rows.window.skipMark()
	c, err := s.array.peek()
	switch {
	case errors.Is(err, errEndsEarly):
		return bodyErrorf("the file is empty")
	case err != nil:
		return err
	case c != '[':
		return bodyErrorf("the file is not a JSON array of readings: a file of objects, one a line, is NDJSON (--format ndjson)")
	}
	s.rows.window.take(1)
	return nil
}

// Names returns the names of the columns of a CSV file.
func (s *Splitter) Names() []string { return s.names }

// Skip continues at a place of an earlier Splitter of the same file. It seeks if it
// can; a JSON file is read and discarded up to the place.
func (s *Splitter) Skip(in io.Reader, to Place) error {
	w := s.rows.window
	switch seeker, ok := in.(io.Seeker); {
	case s.format == JSON:
		return s.skipJSON(to.Readings)
	case ok:
		if _, err := seeker.Seek(to.Offset, io.SeekStart); err != nil {
			return err
		}
		w.reset(in)
		w.offset = to.Offset
	default:
		for w.offset < to.Offset {
			if w.to == w.from && w.err != nil {
				return w.err
			}
			if w.to == w.from {
				w.fill()
			}
			w.take(int(min(int64(w.to-w.from), to.Offset-w.offset)))
		}
	}
	w.line, s.readings = int(to.Line), to.Readings
	return nil
}

// skipJSON discards a number of readings.
func (s *Splitter) skipJSON(readings int64) error {
	most := s.most
	defer func() { s.most = most }()
	for s.readings < readings {
		s.most = int(min(int64(most), readings-s.readings))
		if _, err := s.Next(); err != nil {
			return err
		}
	}
	return nil
}

// At returns the place after the last piece.
func (s *Splitter) At() Place {
	return Place{Offset: s.rows.window.offset + int64(s.array.size), Line: s.line(), Readings: s.readings}
}

// line returns the line on which the next reading begins. It is 0 in JSON.
func (s *Splitter) line() int64 {
	if s.format == JSON {
		return 0
	}
	return int64(s.rows.window.line)
}

// Next returns the next piece. At the end it returns io.EOF.
func (s *Splitter) Next() (Piece, error) {
	p := Piece{First: s.readings, Line: s.line()}
	p.Data = append(p.Data, s.header...)
	p.Begin = len(p.Data)
	// An omitted reading ends its piece, so that the places of all other readings are known.
	for s.err == nil && len(p.Ends) < s.most && len(p.Data)-p.Begin < s.bytes && len(p.Rejects) == 0 {
		if s.format == JSON {
			s.err = s.addElement(&p)
		} else {
			s.err = s.addLine(&p)
		}
	}
	at := s.At()
	p.Offset, p.LineNext = at.Offset, at.Line
	if len(p.Ends)+len(p.Rejects) == 0 {
		return p, s.err
	}
	return p, nil
}

// leaveOut adds a reading that cannot be sent to the piece.
func (s *Splitter) leaveOut(p *Piece, v varve.Verdict) {
	p.Rejects = append(p.Rejects, PieceReject{Index: s.readings, Line: s.line(), Verdict: v})
	s.readings++
}

// addLine adds the next line or row to the piece.
func (s *Splitter) addLine(p *Piece) error {
	w := s.rows.window
	text, err := w.first()
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
	if len(trimBlanks(text)) == 0 {
		w.take(n)
		if begun {
			p.Data = append(p.Data, '\n') // keeps line numbers equal in piece and file
		}
		return nil
	}
	switch {
	case s.format == CSV && s.long:
		n = s.rows.group(text, s.names, s.key)
	case s.format == CSV:
		n, _ = s.rows.row(text, len(s.names))
	}
	if !begun {
		p.Line = s.line()
	}
	p.add(w.buf[w.from : w.from+n])
	w.take(n)
	s.readings++
	return nil
}

// add adds a reading to the piece.
func (p *Piece) add(text []byte) {
	p.Data = append(append(p.Data, bytes.TrimSuffix(text, []byte("\n"))...), '\n')
	p.Ends = append(p.Ends, len(p.Data))
}

// addElement adds the next element of a JSON array to the piece, on one line.
func (s *Splitter) addElement(p *Piece) error {
	text, err := s.array.next()
	var broken brokenError
	switch {
	case errors.Is(err, errLineTooLong):
		s.leaveOut(p, elementTooLong())
		return nil
	case errors.As(err, &broken) && s.readings == 0:
		return notAnArray(broken)
	case errors.As(err, &broken):
		s.leaveOut(p, breaksOff(broken))
		return io.EOF
	case err != nil:
		return err
	case bytes.HasPrefix(text, byteOrderMark): // before a line, it would be skipped
		s.leaveOut(p, varve.Reject(varve.CodeMalformed, "not a JSON object: it begins with a byte order mark"))
		return nil
	}
	from := len(p.Data)
	p.add(text)
	for line := p.Data[from : len(p.Data)-1]; ; {
		i := bytes.IndexByte(line, '\n') // never in a string, where the array breaks off
		if i < 0 {
			break
		}
		line[i] = ' '
	}
	s.readings++
	return nil
}
