package wire

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// maxElement is the length of the longest element of an array: with its
// newline, it is a line of NDJSON.
const maxElement = maxLine - 1

// brokenError means that JSON breaks off in a way that hides where the next
// element begins.
type brokenError string

func (e brokenError) Error() string { return string(e) }

func brokenf(format string, args ...any) error { return brokenError(fmt.Sprintf(format, args...)) }

const (
	errEndsEarly brokenError = "the body ends here"
	errLineBreak brokenError = "a string has a line break in it"
)

// element finds the end of a JSON value by its brackets and quotes alone, so
// that a value that is wrong inside can be told from those around it.
type element struct {
	depth           int
	quoted, escaped bool
}

// scan looks at more of the value. It returns how much of text belongs to it,
// and whether it ends there.
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

// array takes a JSON array apart into its elements without looking into them.
// What is in the window begins behind the opening bracket.
type array struct {
	window *window
	n      int64 // elements so far
	size   int   // of the last one, which is still in the window
}

// next returns the next element, which is good until the following call. At the
// end the error is io.EOF. errLineTooLong: one element was too long, and the
// next can be asked for. A brokenError: the array cannot be read on.
func (a *array) next() ([]byte, error) {
	a.window.take(a.size)
	a.size = 0
	c, err := a.peek()
	if err != nil {
		return nil, err
	}
	switch {
	case c == ']':
		a.window.take(1)
		return nil, a.end()
	case a.n == 0:
	case c == ',':
		a.window.take(1)
		if c, err = a.peek(); err != nil {
			return nil, err
		}
	default:
		return nil, brokenf("there is %q where a comma should be", c)
	}
	if bytes.IndexByte([]byte("]},:"), c) >= 0 {
		return nil, brokenf("there is %q where a reading should be", c)
	}
	return a.element()
}

// peek returns the next byte that is not blank.
func (a *array) peek() (byte, error) {
	w := a.window
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

// end checks that nothing follows the array.
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
	w := a.window
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
			w.take(at)
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
