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
	line     int   // the number of the first line in the window, from 1
	offset   int64 // of the window in the body: what was taken
	skipped  int64 // of that, what gave no reading
	bounded  bool  // that must not be most of the body
}

// maxSkipped is how much of a bounded body may be blank or too long, beyond as
// much as its readings are.
const maxSkipped = 16 << 20

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
// is before it in the window exceed maxLine, however the body comes in.
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

// A window begins small. It need never hold more than what tells that a line
// is too long.
const (
	firstWindow = 16 << 10
	maxWindow   = maxLine + 64<<10
)

// fill reads more of the body, making room for it.
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

// take takes n bytes, which were peeked at, out of the window.
func (w *window) take(n int) {
	w.line += bytes.Count(w.buf[w.from:w.from+n], []byte{'\n'})
	w.from += n
	w.offset += int64(n)
}

// skip takes n bytes out of the window that give no reading. It fails if the
// body has too many of them.
func (w *window) skip(n int) error {
	w.take(n)
	w.skipped += int64(n)
	if w.bounded && w.skipped > maxSkipped+w.offset/2 {
		return bodyErrorf("most of the body is blank, or lines longer than %d bytes: send readings alone", maxLine)
	}
	return nil
}

// skipBlankLines takes the blank lines that the window begins with out of it.
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
			return nil //nolint:nilerr // who takes the rest of the body meets its error
		}
		w.fill()
	}
}

// byteOrderMark is what some programs begin a text with. Where such texts were
// put together, it is before later lines, too.
var byteOrderMark = []byte("\ufeff")

// first returns the window's first line as peek does, without a byte order
// mark.
func (w *window) first() ([]byte, error) {
	line, err := w.peek(0)
	if err != nil && !errors.Is(err, io.EOF) || !bytes.HasPrefix(line, byteOrderMark) {
		return line, err
	}
	w.take(len(byteOrderMark))
	return w.peek(0)
}

// trimBlanks returns a line without the blanks around it.
func trimBlanks(line []byte) []byte {
	for len(line) > 0 && isBlank(line[0]) {
		line = line[1:]
	}
	for len(line) > 0 && isBlank(line[len(line)-1]) {
		line = line[:len(line)-1]
	}
	return line
}

// skipMark takes a byte order mark at the body's beginning out of the window.
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

// skipLine takes the first line out of the window, however long it is.
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
