package wire

import (
	"bytes"
	"errors"
	"io"

	"github.com/varvedb/varve"
)

// maxLine is the maximum length of a line: eight times the largest reading. A reading can be longer in
// JSON, where a control character has six bytes.
const maxLine = 8 * varve.MaxReadingBytes

var errLineTooLong = errors.New("the line is too long")

// buffer is the part of a body that was read and is not consumed. Text is examined before it is consumed,
// so that a reader can try to parse a row over several lines.
type buffer struct {
	r        io.Reader
	buf      []byte
	from, to int // bounds of the text that is not consumed
	err      error
	line     int   // line number of the first line in the buffer, from 1
	offset   int64 // offset of the buffer in the body: the number of consumed bytes
	skipped  int64 // number of consumed bytes that are not part of a reading
	bounded  bool  // the number of skipped bytes is limited

	// openFrom and openTo are offsets in the body. If a string of line protocol is open at the start of a line
	// between them, it is also open at openTo.
	openFrom, openTo int64
}

// maxSkipped is the number of bytes of a bounded body that may always be skipped. In addition, half as
// many bytes may be skipped as were consumed.
const maxSkipped = 16 << 20

// reset prepares the buffer to read from r, at line 1. It reuses the memory of the buffer.
func (b *buffer) reset(r io.Reader) {
	*b = buffer{r: r, buf: b.buf[:0], line: 1}
}

func newBuffer(r io.Reader) *buffer {
	b := new(buffer)
	b.reset(r)
	return b
}

// peek returns the line at an offset of the buffer, with its newline.
//
// At the end of the body the line may be empty or incomplete, and err is the error of the body.
// peek fails with errLineTooLong if the line, with the text before it, is longer than maxLine.
// The result does not depend on how many bytes each read of the body returns.
func (b *buffer) peek(at int) ([]byte, error) {
	seen := at
	for {
		if i := bytes.IndexByte(b.buf[b.from+seen:b.to], '\n'); i >= 0 {
			if seen+i+1 > maxLine {
				return nil, errLineTooLong
			}
			return b.buf[b.from+at : b.from+seen+i+1], nil
		}
		seen = b.to - b.from
		if seen > maxLine {
			return nil, errLineTooLong
		}
		if b.err != nil {
			return b.buf[b.from+at : b.to], b.err
		}
		b.fill()
	}
}

// Sizes of a buffer in bytes. A buffer begins with minBuffer, and seldom needs more than maxBuffer.
const (
	minBuffer = 16 << 10
	maxBuffer = maxLine + 64<<10
)

// fill reads more of the body, and makes room for it.
func (b *buffer) fill() {
	if b.from > 0 && b.to == cap(b.buf) {
		copy(b.buf[:cap(b.buf)], b.buf[b.from:b.to])
		b.to -= b.from
		b.from = 0
	}
	if b.to == cap(b.buf) {
		size := max(4*cap(b.buf), minBuffer)
		if cap(b.buf) < maxBuffer {
			size = min(size, maxBuffer)
		}
		bigger := make([]byte, size)
		copy(bigger, b.buf[:b.to])
		b.buf = bigger
	}
	b.buf = b.buf[:cap(b.buf)]
	for tries := 0; ; tries++ {
		n, err := b.r.Read(b.buf[b.to:])
		b.to += n
		b.err = err
		if n > 0 || err != nil {
			return
		}
		if tries == 100 {
			b.err = io.ErrNoProgress
			return
		}
	}
}

// consume advances over n bytes.
func (b *buffer) consume(n int) {
	b.line += bytes.Count(b.buf[b.from:b.from+n], []byte{'\n'})
	b.from += n
	b.offset += int64(n)
}

// skip consumes n bytes that are not part of a reading. It fails if a bounded body has too many of them.
func (b *buffer) skip(n int) error {
	b.consume(n)
	b.skipped += int64(n)
	if b.bounded && b.skipped > maxSkipped+b.offset/2 {
		return bodyErrorf("most of the body is blank, or lines longer than %d bytes: send readings alone", maxLine)
	}
	return nil
}

// skipBlankLines consumes the blank lines at the start of the buffer.
func (b *buffer) skipBlankLines() error {
	for {
		text := b.buf[b.from:b.to]
		n := 0
		for n < len(text) && isBlank(text[n]) {
			n++
		}
		if err := b.skip(bytes.LastIndexByte(text[:n], '\n') + 1); err != nil {
			return err
		}
		if n < len(text) || b.to-b.from > maxLine {
			return nil
		}
		if b.err != nil {
			return nil //nolint:nilerr // the next read returns the error
		}
		b.fill()
	}
}

// byteOrderMark is U+FEFF, which some programs write at the beginning of a file. If files are
// concatenated, it also occurs before later lines.
var byteOrderMark = []byte("\ufeff")

// firstLine returns the first line as peek does, without a byte order mark.
func (b *buffer) firstLine() ([]byte, error) {
	line, err := b.peek(0)
	if err != nil && !errors.Is(err, io.EOF) || !bytes.HasPrefix(line, byteOrderMark) {
		return line, err
	}
	b.consume(len(byteOrderMark))
	return b.peek(0)
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
func (b *buffer) skipMark() {
	if b.offset > 0 {
		return
	}
	for b.to-b.from < len(byteOrderMark) && b.err == nil {
		b.fill()
	}
	if bytes.HasPrefix(b.buf[b.from:b.to], byteOrderMark) {
		b.consume(len(byteOrderMark))
	}
}

// skipLine consumes the first line, of any length.
func (b *buffer) skipLine() error {
	for {
		if i := bytes.IndexByte(b.buf[b.from:b.to], '\n'); i >= 0 {
			return b.skip(i + 1)
		}
		if err := b.skip(b.to - b.from); err != nil {
			return err
		}
		if b.err != nil {
			return b.err
		}
		b.fill()
	}
}
