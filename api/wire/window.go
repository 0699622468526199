package wire

import (
	"bytes"
	"errors"
	"io"

	"github.com/varvedb/varve"
)

// maxLine is the length of the longest line: four times the largest reading,
// for escapes and blanks.
const maxLine = 4 * varve.MaxReadingBytes

var errLineTooLong = errors.New("the line is too long")

// window is the part of a body that is being looked at. Lines are looked at
// before they are taken, so that a row that spans lines can be tried.
type window struct {
	r        io.Reader
	buf      []byte
	from, to int // of what was read and not taken
	err      error
	line     int // the number of the first line in the window, from 1
}

// reset begins a body. The window keeps its memory.
func (w *window) reset(r io.Reader) {
	*w = window{r: r, buf: w.buf[:0], line: 1}
}

func newWindow(r io.Reader) *window {
	w := new(window)
	w.reset(r)
	return w
}

// peek returns the line that begins at an offset in the window, with its
// newline. At the body's end there may be none; err is then the body's, and
// the line may be cut short. It fails with errLineTooLong if the line and what
// is before it in the window exceed maxLine.
func (w *window) peek(at int) ([]byte, error) {
	seen := at
	for {
		if i := bytes.IndexByte(w.buf[w.from+seen:w.to], '\n'); i >= 0 {
			return w.buf[w.from+at : w.from+seen+i+1], nil
		}
		seen = w.to - w.from
		if w.err != nil {
			return w.buf[w.from+at : w.to], w.err
		}
		if seen > maxLine {
			return nil, errLineTooLong
		}
		w.fill()
	}
}

const firstWindow = 16 << 10

// fill reads more of the body, making room for it.
func (w *window) fill() {
	if w.from > 0 && w.to == cap(w.buf) {
		copy(w.buf[:cap(w.buf)], w.buf[w.from:w.to])
		w.to -= w.from
		w.from = 0
	}
	if w.to == cap(w.buf) {
		bigger := make([]byte, max(4*cap(w.buf), firstWindow))
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

// take takes n bytes, which were peeked at, out of the window.
func (w *window) take(n int) {
	w.line += bytes.Count(w.buf[w.from:w.from+n], []byte{'\n'})
	w.from += n
}

// skipLine takes the first line out of the window, however long it is.
func (w *window) skipLine() error {
	for {
		line, err := w.peek(0)
		if !errors.Is(err, errLineTooLong) {
			w.take(len(line))
			return err
		}
		w.from = w.to
	}
}
