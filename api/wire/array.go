package wire

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// maxElement is the maximum length of an element. An element of this length, with a newline, is as long
// as the longest line of NDJSON.
const maxElement = maxLine - 1

// brokenError reports broken JSON in which the start of the next element is unknown.
type brokenError string

func (e brokenError) Error() string { return string(e) }

func brokenf(format string, args ...any) error { return brokenError(fmt.Sprintf(format, args...)) }

const (
	errEndsEarly brokenError = "the body ends here"
	errLineBreak brokenError = "a string has a line break in it"
)

// element finds the end of an array's element by brackets and quotes only. So invalid JSON in an element
// does not affect the other elements, if its brackets and quotes match.
type element struct {
	depth           int
	quoted, escaped bool
}

// scan examines further text of the element. It returns the length of the part that belongs to the
// element, and whether the element is complete.
func (e *element) scan(text []byte) (n int, done bool, err error) {
	for i, c := range text {
		switch {
		case e.quoted:
			switch {
			case c == '\n':
				return i, false, errLineBreak
			case e.escaped:
				e.escaped = false
			case c == '\\':
				e.escaped = true
			case c == '"':
				e.quoted = false
			}
			if e.quoted || e.depth > 0 {
				continue
			}
			return i + 1, true, nil
		case c == '"':
			e.quoted = true
		case c == '{' || c == '[':
			e.depth++
		case c == '}' || c == ']':
			if e.depth == 0 {
				return i, true, nil
			}
			if e.depth--; e.depth == 0 {
				return i + 1, true, nil
			}
		case e.depth == 0 && (c == ',' || isBlank(c)):
			return i, true, nil
		}
	}
	return len(text), false, nil
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// array splits a JSON array into its elements without parsing them. The buffered text begins after the
// opening bracket.
type array struct {
	buffer *buffer
	n      int64 // number of elements that were found so far
	size   int   // size of the last element, which is still in the buffer
}

// next returns the next element, which is valid until the following call. It returns io.EOF at
// the end, and errLineTooLong for an element that is too long. After a brokenError, the rest of
// the array is unreadable.
func (a *array) next() ([]byte, error) {
	a.buffer.consume(a.size)
	a.size = 0
	c, err := a.peek()
	if err != nil {
		return nil, err
	}
	switch {
	case c == ']':
		a.buffer.consume(1)
		return nil, a.end()
	case a.n == 0:
	case c == ',':
		a.buffer.consume(1)
		if c, err = a.peek(); err != nil {
			return nil, err
		}
	default:
		return nil, brokenf("%q in place of a comma", c)
	}
	if bytes.IndexByte([]byte("]},:"), c) >= 0 {
		return nil, brokenf("%q in place of a reading", c)
	}
	return a.element()
}

// peek returns the next byte that is not blank.
func (a *array) peek() (byte, error) {
	w := a.buffer
	for {
		for i, c := range w.buf[w.from:w.to] {
			if !isBlank(c) {
				return c, w.skip(i)
			}
		}
		if err := w.skip(w.to - w.from); err != nil {
			return 0, err
		}
		if errors.Is(w.err, io.EOF) {
			return 0, errEndsEarly
		}
		if w.err != nil {
			return 0, w.err
		}
		w.fill()
	}
}

// end checks that only blanks follow the array. If so, it returns io.EOF.
func (a *array) end() error {
	c, err := a.peek()
	if errors.Is(err, errEndsEarly) {
		return io.EOF
	}
	if err != nil {
		return err
	}
	return brokenf("%q follows the array", c)
}

func (a *array) element() ([]byte, error) {
	w := a.buffer
	var e element
	long := false
	for at := 0; ; w.fill() {
		n, done, err := e.scan(w.buf[w.from+at : w.to])
		if err != nil {
			return nil, err
		}
		at += n
		if at > maxElement {
			if err := w.skip(at); err != nil {
				return nil, err
			}
			at, long = 0, true
		}
		switch {
		case done && long:
			w.consume(at)
			a.n++
			return nil, errLineTooLong
		case done:
			a.size = at
			a.n++
			return w.buf[w.from : w.from+at], nil
		case errors.Is(w.err, io.EOF):
			return nil, errEndsEarly
		case w.err != nil:
			return nil, w.err
		}
	}
}
