package wire

import (
	"bytes"
	"errors"
	"io"
)

// Reasons for which a line is not a row of CSV.
var (
	errOpenQuote  = errors.New("a quote is not closed")
	errStrayQuote = errors.New("a quote stands inside a cell: double it and quote the whole cell")
)

// rowReader splits a CSV body into rows. A quoted cell may span lines.
//
// If the lines after an opening quote do not form a row, only the first line is rejected, and the next
// line begins a row. So a quote that is not closed makes one row invalid, not the rest of the body.
type rowReader struct {
	buffer *buffer
	comma  []byte
	cells  [][]byte
	spare  []byte // buffer for the contents of cells with doubled quotes
	text   []byte // text of the last row, without its newline; valid until the next call of next
	isOpen bool   // the body ended in a quoted cell of the row that was split last
}

// next returns the cells of the next row that is not blank, and the number of its first line. The
// cells are valid until the next call.
//
// The argument "columns" is the expected number of cells, or 0 if it is unknown. The result "bad" is set
// if the line is not a row, and has the reason. At the end of the body, err is io.EOF.
func (r *rowReader) next(columns int) (cells [][]byte, line int, bad, err error) {
	r.text = nil
	for {
		if err := r.buffer.skipBlankLines(); err != nil {
			return nil, r.buffer.line, nil, err
		}
		line = r.buffer.line
		text, err := r.buffer.firstLine()
		switch {
		case errors.Is(err, errLineTooLong):
			if err := r.buffer.skipLine(); err != nil && !errors.Is(err, io.EOF) {
				return nil, line, nil, err
			}
			return nil, line, errLineTooLong, nil
		case err != nil && !errors.Is(err, io.EOF):
			return nil, line, nil, err
		case len(text) == 0:
			return nil, line, nil, io.EOF
		}
		if len(trimBlanks(text)) == 0 {
			r.buffer.consume(len(text))
			continue
		}
		n, bad := r.row(text, columns)
		r.text = trimLineEnd(r.buffer.buf[r.buffer.from : r.buffer.from+n])
		r.buffer.consume(n)
		return r.cells, line, bad, nil
	}
}

// row splits a row that begins with the given line, and returns the length of the row. If the lines do
// not form a row, it returns the length of the first line, and the reason.
func (r *rowReader) row(first []byte, columns int) (n int, bad error) {
	r.isOpen = false
	if bad = r.split(first); !errors.Is(bad, errOpenQuote) {
		return len(first), bad
	}
	quotes := bytes.Count(first, []byte{'"'})
	for n := len(first); ; {
		line, err := r.buffer.peek(n)
		if len(line) == 0 || err != nil && !errors.Is(err, io.EOF) {
			r.isOpen = errors.Is(err, io.EOF)
			break
		}
		n += len(line)
		if quotes += bytes.Count(line, []byte{'"'}); quotes%2 != 0 {
			continue // a quoted cell continues on the next line
		}
		whole := r.buffer.buf[r.buffer.from : r.buffer.from+n]
		if bad := r.split(whole); bad == nil && (columns == 0 || len(r.cells) == columns) {
			return n, nil
		}
		break
	}
	// The buffered text may have moved, but it still begins with the first line.
	return len(first), errOpenQuote
}

func (r *rowReader) split(text []byte) error {
	text = bytes.TrimSuffix(text, []byte("\n"))
	text = bytes.TrimSuffix(text, []byte("\r"))
	r.cells, r.spare = r.cells[:0], r.spare[:0]
	for {
		var cell []byte
		if len(text) > 0 && text[0] == '"' {
			var err error
			if cell, text, err = r.quoted(text[1:]); err != nil {
				return err
			}
			if len(text) > 0 && !bytes.HasPrefix(text, r.comma) {
				return errStrayQuote
			}
		} else {
			end := bytes.Index(text, r.comma)
			if end < 0 {
				end = len(text)
			}
			cell, text = text[:end], text[end:]
			if bytes.IndexByte(cell, '"') >= 0 {
				return errStrayQuote
			}
		}
		r.cells = append(r.cells, cell)
		if len(text) == 0 {
			return nil
		}
		text = text[len(r.comma):]
	}
}

// quoted reads a cell up to its closing quote, and returns the rest of the text.
func (r *rowReader) quoted(text []byte) (cell, rest []byte, err error) {
	from := len(r.spare)
	for {
		end := bytes.IndexByte(text, '"')
		if end < 0 {
			return nil, nil, errOpenQuote
		}
		if end+1 == len(text) || text[end+1] != '"' {
			if len(r.spare) == from {
				return text[:end], text[end+1:], nil
			}
			r.spare = append(r.spare, text[:end]...)
			return r.spare[from:], text[end+1:], nil
		}
		r.spare = append(r.spare, text[:end+1]...)
		text = text[end+2:]
	}
}
