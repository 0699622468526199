package wire

import (
	"bytes"
	"errors"
	"io"

	"github.com/varvedb/varve"
)

// elementCutter cuts a JSON array into lines of NDJSON.
type elementCutter struct{ array array }

func (e *elementCutter) begin(*Splitter) error {
	w := e.array.buffer
	w.skipMark()
	c, err := e.array.peek()
	switch {
	case errors.Is(err, errEndsEarly):
		return bodyErrorf("the file is empty")
	case err != nil:
		return err
	case c != '[':
		return bodyErrorf("the file is not a JSON array of readings: a file of objects, one a line, is NDJSON (--format ndjson)")
	}
	w.consume(1)
	return nil
}

func (e *elementCutter) at() (offset, line int64) {
	return e.array.buffer.offset + int64(e.array.size), 0
}

// cut adds the next element, on one line.
func (e *elementCutter) cut(s *Splitter, p *Piece) error {
	text, err := e.array.next()
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
	case bytes.HasPrefix(text, byteOrderMark): // a server would skip the mark, and accept the element
		s.leaveOut(p, varve.Reject(varve.CodeMalformed, "not a JSON object: it begins with a byte order mark"))
		return nil
	}
	from := len(p.Data)
	p.add(text)
	for line := p.Data[from : len(p.Data)-1]; ; {
		i := bytes.IndexByte(line, '\n') // the newline is between two tokens, because a string with a line break is an error
		if i < 0 {
			break
		}
		line[i] = ' '
	}
	s.readings++
	return nil
}

// skip reads and discards the readings before the boundary.
func (e *elementCutter) skip(s *Splitter, _ io.Reader, to Boundary) error {
	most := s.most
	defer func() { s.most = most }()
	for s.readings < to.Readings {
		s.most = int(min(int64(most), to.Readings-s.readings))
		if _, err := s.Next(); err != nil {
			return err
		}
	}
	return nil
}
