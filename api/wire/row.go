package wire

import (
	"bytes"
	"errors"
	"io"
)

// Why a line is no row of CSV.
var (
	errOpenQuote  = errors.New("a quote is not closed")
	errStrayQuote = errors.New("a quote stands inside a cell: double it and quote the whole cell")
)

// rowReader splits a CSV body into rows. A quoted cell may span lines; but if
// taking it so makes no row, its first line alone is at fault, and reading goes
// on with the next: a quote that somebody forgot costs one row, not all that
// follow.
type rowReader struct {
	window *window
	comma  []byte
	cells  [][]byte
	spare  []byte // unescaped cells
}

// next returns the cells of the next row that is not blank, and the line on
// which it begins; they are good until the next call. Columns is how many there
// should be, or 0. bad says why the line is no row. At the end of the body err
// is io.EOF, and there is no row.
func (r *rowReader) next(columns int) (cells [][]byte, line int, bad, err error) {
	for {
		if err := r.window.skipBlankLines(); err != nil {
			return nil, r.window.line, nil, err
		}
		line = r.window.line
		text, err := r.window.first()
		switch {
		case errors.Is(err, errLineTooLong):
			if err := r.window.skipLine(); err != nil && !errors.Is(err, io.EOF) {
				return nil, line, nil, err
			}
			return nil, line, errLineTooLong, nil
		case err != nil && !errors.Is(err, io.EOF):
			return nil, line, nil, err
		case len(text) == 0:
			return nil, line, nil, io.EOF
		}
		if len(trimBlanks(text)) == 0 {
			r.window.take(len(text))
			continue
		}
		n, bad := r.row(text, columns)
		r.window.take(n)
		return r.cells, line, bad, nil
	}
}

// row splits the row that begins with a line, and returns its length.
func (r *rowReader) row(first []byte, columns int) (n int, bad error) {
	if bad = r.split(first); !errors.Is(bad, errOpenQuote) {
		return len(first), bad
	}
	quotes := bytes.Count(first, []byte{'"'})
	for n := len(first); ; {
		line, err := r.window.peek(n)
		if len(line) == 0 || err != nil && !errors.Is(err, io.EOF) {
			break
		}
		n += len(line)
		if quotes += bytes.Count(line, []byte{'"'}); quotes%2 != 0 {
			continue // a quote is still open
		}
		whole := r.window.buf[r.window.from : r.window.from+n]
		if bad := r.split(whole); bad == nil && (columns == 0 || len(r.cells) == columns) {
			return n, nil
		}
		break
	}
	// The window may have moved; the line is still its beginning.
	return len(first), errOpenQuote
}

// split splits text into cells.
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

// quoted reads a cell up to its closing quote, and returns what follows.
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
