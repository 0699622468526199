package wire

import (
	"bytes"
	"io"

	"github.com/varvedb/varve"
)

// Piece is a part of a file that can be sent as a separate body.
type Piece struct {
	Data     []byte
	Ends     []int // the offset in Data of the end of each reading
	Begin    int   // the offset in Data of the first reading
	First    int64 // the first reading's index in the file
	Line     int64 // the first reading's line in the file, from 1; 0 in JSON
	Offset   int64 // the offset in the file after the last reading
	LineNext int64 // the line in the file on which the next piece begins
	Rejects  []PieceReject

	originals []fileReading // set if the piece contains selected readings of another piece
}

// fileReading is the index and the line of a reading in its file.
type fileReading struct{ index, line int64 }

// PieceReject is a reading that cannot be sent, such as a line that is too long.
type PieceReject struct {
	Index, Line int64 // index and first line of the reading in the file
	Verdict     varve.Verdict
}

// Len returns the number of readings in the piece.
func (p *Piece) Len() int { return len(p.Ends) }

// span returns the range of a reading in Data, including blank lines before the reading.
func (p *Piece) span(i int) (from, to int) {
	if i == 0 {
		return p.Begin, p.Ends[0]
	}
	return p.Ends[i-1], p.Ends[i]
}

// Text returns the text of a reading.
func (p *Piece) Text(i int) []byte {
	from, to := p.span(i)
	return bytes.Trim(p.Data[from:to], "\r\n")
}

// Where returns the index and the first line of a reading in the file. The line is 0 in JSON.
func (p *Piece) Where(i int) (index, line int64) {
	if p.originals != nil {
		return p.originals[i].index, p.originals[i].line
	}
	if index = p.First + int64(i); p.Line == 0 {
		return index, 0
	}
	from, to := p.span(i)
	begin := to - len(bytes.TrimLeft(p.Data[from:to], "\r\n"))
	return index, p.Line + int64(bytes.Count(p.Data[p.Begin:begin], []byte{'\n'}))
}

// AtLine returns the index of the reading that contains the given line of Data. The first line has the
// number 1. AtLine returns 0 for a line of the header, and -1 for a line after the last reading.
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

// Only returns a piece with the selected readings. Where still returns their index and line in the file.
func (p *Piece) Only(which []int) Piece {
	q := Piece{Data: bytes.Clone(p.Data[:p.Begin]), Begin: p.Begin, First: p.First, Line: p.Line}
	for _, i := range which {
		q.add(p.Text(i))
		index, line := p.Where(i)
		q.originals = append(q.originals, fileReading{index, line})
	}
	return q
}

// Boundary is the end of a piece in a file, from which a Splitter can continue. Offset and Readings are
// the numbers of bytes and readings before the end. Line is the number of the next line.
type Boundary struct{ Offset, Line, Readings int64 }

// Splitter cuts a file of readings into pieces, whose format is Format.PieceFormat. Each reading of the
// file is in the Data of one piece, or in its Rejects if the reading cannot be sent.
type Splitter struct {
	most     int // maximum number of readings in a piece
	bytes    int // approximate size of a piece, in bytes
	buffer   *buffer
	cutter   cutter
	header   []byte   // the beginning of each piece, with its newline; may be empty
	names    []string // names of the columns, if the format has columns
	readings int64    // number of readings before the next piece
	err      error    // io.EOF or the error that ended the file, returned after the last piece
}

// cutter finds the readings in a file of one format.
type cutter interface {
	// begin reads the text before the first reading.
	begin(s *Splitter) error
	// cut adds the next reading to the piece, or to the Rejects of the piece. For a blank line or a
	// comment, it adds no reading.
	cut(s *Splitter, p *Piece) error
	// at returns the offset and the line of the next reading. A format without lines has line 0.
	at() (offset, line int64)
	// skip continues at a boundary.
	skip(s *Splitter, in io.Reader, to Boundary) error
}

// NewSplitter returns a splitter of a file. It begins at the start of the file, unless Skip is called. The
// columns are as for NewReader. The arguments "most" and "size" limit the readings and the bytes of a piece.
func NewSplitter(f Format, in io.Reader, c Columns, most, size int) (*Splitter, error) {
	newCutter := f.entry().newCutter
	if newCutter == nil {
		return nil, varve.Errorf(varve.Internal, "files in %s cannot be read", f)
	}
	w := newBuffer(in)
	s := &Splitter{most: most, bytes: size, buffer: w, cutter: newCutter(w, c)}
	return s, s.cutter.begin(s)
}

// Names returns the names of the columns of a CSV file.
func (s *Splitter) Names() []string { return s.names }

// Skip continues at a boundary of an earlier Splitter of the same file. If the argument "in" is an
// io.Seeker and the format is not JSON, Skip seeks. Otherwise it reads and discards the file up to the
// boundary.
func (s *Splitter) Skip(in io.Reader, to Boundary) error { return s.cutter.skip(s, in, to) }

// OmitOpenRow makes the splitter end before a CSV row whose quoted cell is open at the end of the file. It is for
// a file that is being written. Rows of the long form, and rows longer than maxOpenRow, are not omitted.
func (s *Splitter) OmitOpenRow() {
	if r, ok := s.cutter.(*rowCutter); ok {
		r.omitsOpen = true
	}
}

// At returns the boundary after the last piece that Next returned.
func (s *Splitter) At() Boundary {
	offset, line := s.cutter.at()
	return Boundary{Offset: offset, Line: line, Readings: s.readings}
}

// line returns the line on which the next reading begins. It is 0 in JSON.
func (s *Splitter) line() int64 {
	_, line := s.cutter.at()
	return line
}

// Next returns the next piece. At the end it returns io.EOF.
func (s *Splitter) Next() (Piece, error) {
	p := Piece{First: s.readings, Line: s.line()}
	p.Data = append(p.Data, s.header...)
	p.Begin = len(p.Data)
	// End the piece at a reading that cannot be sent. Otherwise Where could not count the readings and
	// lines in Data.
	for s.err == nil && len(p.Ends) < s.most && len(p.Data)-p.Begin < s.bytes && len(p.Rejects) == 0 {
		s.err = s.cutter.cut(s, &p)
	}
	at := s.At()
	p.Offset, p.LineNext = at.Offset, at.Line
	if len(p.Ends)+len(p.Rejects) == 0 {
		return p, s.err
	}
	return p, nil
}

// leaveOut adds the next reading, which cannot be sent, to the Rejects of the piece.
func (s *Splitter) leaveOut(p *Piece, v varve.Verdict) {
	p.Rejects = append(p.Rejects, PieceReject{Index: s.readings, Line: s.line(), Verdict: v})
	s.readings++
}

func (p *Piece) add(text []byte) {
	p.Data = append(append(p.Data, bytes.TrimSuffix(text, []byte("\n"))...), '\n')
	p.Ends = append(p.Ends, len(p.Data))
}
