package wire

import (
	"bytes"
	"errors"
	"io"

	"github.com/go-faster/jx"

	"github.com/varvedb/varve"
)

var jsonEntry = entry{
	title: "JSON", name: "json",
	media:      []string{"application/json"},
	bodyMedia:  []string{"text/json", "application/x-www-form-urlencoded", "application/octet-stream", "text/plain"},
	extensions: []string{".json"},
	newReader: func(mem *Memory, body io.Reader, d Defaults, _ Columns) (Reader, error) {
		mem.object.Defaults = d
		mem.json = jsonBody{mem: mem, body: body}
		return &mem.json, nil
	},
	newCutter: func(b *buffer, _ Columns) cutter { return &elementCutter{array: array{buffer: b}} },
	pieces:    NDJSON,
}

// jsonBody reads a JSON object or an array of objects. If the body consists of lines of objects,
// it reads them as NDJSON, because many clients send NDJSON with the media type of JSON.
type jsonBody struct {
	mem    *Memory
	body   io.Reader
	begun  bool
	object bool  // the body is one object
	array  array // used if the body is an array
	lines  *ndjson
}

// Read implements Reader.
func (j *jsonBody) Read(b *Batch) error {
	if !j.begun {
		j.begun = true
		if err := j.begin(); err != nil {
			return err
		}
	}
	switch {
	case j.lines != nil:
		return j.lines.Read(b)
	case j.object:
		return j.one(b)
	}
	for !b.Full() {
		if err := j.element(b); err != nil {
			return err
		}
	}
	return nil
}

// begin determines whether the body is an array, one object, or lines of objects.
func (j *jsonBody) begin() error {
	w := &j.mem.buffer
	w.reset(j.body)
	w.bounded = true
	w.skipMark()
	j.array = array{buffer: w}
	c, err := j.array.peek()
	switch {
	case errors.Is(err, errEndsEarly):
		return bodyErrorf("the body is empty")
	case err != nil:
		return err
	case c == '[':
		w.consume(1)
		return nil
	case c != '{':
		return bodyErrorf("the body is neither a JSON object nor an array of them: for CSV, send Content-Type: text/csv or add ?format=csv")
	}
	for w.err == nil && w.to-w.from <= maxLine {
		w.fill()
	}
	text := w.buf[w.from:w.to]
	// If w.err is nil, the text is longer than an object may be. Without a newline, it is a line of
	// NDJSON that is too long. With newlines, it is a single object that is too long.
	if j.several(trimBlanks(text)) || w.err == nil && bytes.IndexByte(text, '\n') < 0 {
		j.lines = &j.mem.ndjson
		*j.lines = ndjson{buffer: w, object: &j.mem.object}
		return nil
	}
	j.object = true
	return nil
}

// one reads the only object of the body.
func (j *jsonBody) one(b *Batch) error {
	w := &j.mem.buffer
	if w.err == nil {
		b.add(0)
		b.reject(elementTooLong())
		return io.EOF
	}
	if !errors.Is(w.err, io.EOF) {
		return w.err
	}
	if j.mem.object.into(b, trimBlanks(w.buf[w.from:w.to]), 0) {
		return io.EOF
	}
	v := b.Verdicts[len(b.Verdicts)-1]
	if v.Code != varve.CodeMalformed {
		return io.EOF
	}
	return bodyErrorf("the body is %s", v.Message)
}

// several reports whether a text consists of objects on lines, and not of one object. This is so if a
// newline or another object follows the first object. It is also so if the first line is invalid, and the
// second line is an object.
func (j *jsonBody) several(text []byte) bool {
	var first element
	if n, done, err := first.scan(text); done && err == nil {
		rest := bytes.TrimLeft(text[n:], " \t\r")
		return len(rest) > 0 && (rest[0] == '\n' || rest[0] == '{')
	}
	second := false
	for line := range bytes.Lines(text) {
		line = trimBlanks(line)
		if second && len(line) > 0 {
			d := &j.mem.second
			d.ResetBytes(line)
			return d.Next() == jx.Object && d.Skip() == nil && errors.Is(d.Skip(), io.EOF)
		}
		second = true // the text has no blank line at its beginning, so the next line is at least the second one
	}
	return false
}

// element reads the next element of the array. If broken JSON hides the end of an element, the rest of the
// body is one malformed reading, and the earlier elements stay valid. If this is the first element, the
// method element fails instead.
func (j *jsonBody) element(b *Batch) error {
	text, err := j.array.next()
	var broken brokenError
	switch {
	case err == nil:
		j.mem.object.into(b, text, 0)
		return nil
	case errors.Is(err, errLineTooLong):
		b.add(0)
		b.reject(elementTooLong())
		return nil
	case !errors.As(err, &broken):
		return err
	}
	if j.array.n == 0 {
		return notAnArray(broken)
	}
	b.add(0)
	b.reject(breaksOff(broken))
	return io.EOF
}

func notAnArray(err error) error {
	return bodyErrorf("the body is not a JSON array of readings: %s", err)
}

func breaksOff(err error) varve.Verdict {
	return varve.Reject(varve.CodeMalformed, "the JSON breaks off in this reading: %s", err)
}

func elementTooLong() varve.Verdict {
	return varve.Reject(varve.CodeTooLarge, "the reading is longer than %d bytes", maxElement)
}
