package wire

import (
	"bytes"
	"errors"
	"io"

	"github.com/varvedb/varve"
)

// maxLine is the maximum length of a line: four times the largest reading, for escapes and
// blanks.
const maxLine = 4 * varve.MaxReadingBytes

var errLineTooLong = errors.New("the line is too long")

// window is the buffered part of a body. Text is examined before it is consumed, so that a reader can
// try to parse a row over several lines.
type window struct {
	r        io.Reader
	buf      []byte
	from, to int // bounds of the text that is not consumed
	err      error
	line     int   // line number of the first line in the window, from 1
	offset   int64 // offset of the window in the body: the consumed bytes
	skipped  int64 // consumed bytes that gave no reading
	bounded  bool  // skipped bytes must not be most of the body
}

// maxSkipped limits the skipped bytes of a bounded body, in addition to half of its consumed bytes.
const maxSkipped = 16 << 20

// reset begins a body and reuses the memory of the window.
func (w *window) reset(r io.Reader) {
	*w = window{r: r, buf: w.buf[:0], line: 1}
}

func newWindow(r io.Reader) *window {
	w := new(window)
	w.reset(r)
	return w
}

// peek returns the line at an offset of the window, with its newline.
//
// At the end of the body the line may be empty or incomplete, and err is the error of the body.
// peek fails with errLineTooLong if the line, with the text before it, is longer than maxLine.
// The pieces in which the body arrives make no difference.
func (w *window) peek(at int) ([]byte, error) {
	seen := at
	for {
		if i := bytes.IndexByte(w.buf[w.from+seen:w.to], '\n'); i >= 0 {
			if seen+i+1 > maxLine {
				return nil, errLineTooLong
			}
			return w.buf[w.from+at : w.from+seen+i+1], nil
		}
		seen = w.to - w.from
		if seen > maxLine {
			return nil, errLineTooLong
		}
		if w.err != nil {
			return w.buf[w.from+at : w.to], w.err
		}
		w.fill()
	}
}

// Sizes of a window. It begins small, and holds little more than the longest line.
const (
	firstWindow = 16 << 10
	maxWindow   = maxLine + 64<<10
)

// fill reads more of the body, and makes room for it.
func (w *window) fill() {
	if w.from > 0 && w.to == cap(w.buf) {
		copy(w.buf[:cap(w.buf)], w.buf[w.from:w.to])
		w.to -= w.from
		w.from = 0
	}
	if w.to == cap(w.buf) {
		size := max(4*cap(w.buf), firstWindow)
		if cap(w.buf) < maxWindow {
			size = min(size, maxWindow)
		}
		bigger := make([]byte, size)
		copy(bigger, w.buf[:w.to])
		w.buf = bigger
	}
	w.buf = w.buf[:cap(w.buf)]
	for tries := 0; ; tries++ {
		n, err := w.r.Read(w.buf[w.to:])
		w.to += n
		w.err = err
		if n > 0 || err != nil {
			return
		}
		if tries == 100 {
			w.err = io.ErrNoProgress
			return
		}
	}
}

// take consumes n bytes of the window.
func (w *window) take(n int) {
	w.line += bytes.Count(w.buf[w.from:w.from+n], []byte{'\n'})
	w.from += n
	w.offset += int64(n)
}

// skip consumes n bytes that give no reading. It fails if the body has too many of them.
func (w *window) skip(n int) error {
	w.take(n)
	w.skipped += int64(n)
	if w.bounded && w.skipped > maxSkipped+w.offset/2 {
		return bodyErrorf("most of the body is blank, or lines longer than %d bytes: send readings alone", maxLine)
	}
	return nil
}

// skipBlankLines consumes the blank lines at the start of the window.
func (w *window) skipBlankLines() error {
	for {
		text := w.buf[w.from:w.to]
		n := 0
		for n < len(text) && isBlank(text[n]) {
			n++
		}
		if err := w.skip(bytes.LastIndexByte(text[:n], '\n') + 1); err != nil {
			return err
		}
		if n < len(text) || w.to-w.from > maxLine {
			return nil
		}
		if w.err != nil {
			return nil //nolint:nilerr // the next read returns the error
		}
		w.fill()
	}
}

// byteOrderMark is a prefix that some programs write. In concatenated texts, it also occurs
// before later lines.
var byteOrderMark = []byte("\ufeff")

// first returns the first line of the window as peek does, without a byte order mark.
func (w *window) first() ([]byte, error) {
	line, err := w.peek(0)
	if err != nil && !errors.Is(err, io.EOF) || !bytes.HasPrefix(line, byteOrderMark) {
		return line, err
	}
	w.take(len(byteOrderMark))
	return w.peek(0)
}

// trimBlanks returns a line without leading and trailing blanks.
func trimBlanks(line []byte) []byte {
	for len(line) > 0 && isBlank(line[0]) {
		line = line[1:]
	}
	for len(line) > 0 && isBlank(line[len(line)-1]) {
		line = line[:len(line)-1]
	}
	return line
}

// skipMark consumes a byte order mark at the beginning of the body.
func (w *window) skipMark() {
	if w.offset > 0 {
		return
	}
	for w.to-w.from < len(byteOrderMark) && w.err == nil {
		w.fill()
	}
	if bytes.HasPrefix(w.buf[w.from:w.to], byteOrderMark) {
		w.take(len(byteOrderMark))
	}
}

// skipLine consumes the first line, of any length.
func (w *window) skipLine() error {
	for {
		if i := bytes.IndexByte(w.buf[w.from:w.to], '\n'); i >= 0 {
			return w.skip(i + 1)
		}
		if err := w.skip(w.to - w.from); err != nil {
			return err
		}
		if w.err != nil {
			return w.err
		}
		w.fill()
	}
}
