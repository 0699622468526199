package wire

import (
	"bytes"
	"errors"
	"io"

	"github.com/go-faster/jx"

	"github.com/varvedb/varve"
)

// MaxJSON is the length of the longest JSON body; longer ones are sent as
// NDJSON, which need not be read whole.
const MaxJSON = 32 << 20

// jsonBody reads an object or an array of objects. Lines of objects, which many
// a client sends without saying so, it reads as NDJSON.
type jsonBody struct {
	mem   *Memory
	body  io.Reader
	begun bool
	one   []byte // the object, if it is one
	whole window // the array, if it is one
	array array
	lines *ndjson // the lines, if it is those
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
	case j.one != nil:
		if j.mem.object.into(b, j.one, 0) {
			return io.EOF
		}
		v := b.Verdicts[len(b.Verdicts)-1]
		if v.Code != varve.CodeMalformed {
			return io.EOF
		}
		return bodyErrorf("the body is %s", v.Message)
	}
	for !b.Full() {
		if err := j.element(b); err != nil {
			return err
		}
	}
	return nil
}

// begin reads the body and sees what it is.
func (j *jsonBody) begin() error {
	whole, err := j.mem.readAll(io.LimitReader(j.body, MaxJSON+1))
	if err != nil {
		return err
	}
	if len(whole) > MaxJSON {
		return bodyErrorf("a JSON body is at most %d MiB: send more as NDJSON (Content-Type: application/x-ndjson)", MaxJSON>>20)
	}
	text := trimBlanks(bytes.TrimPrefix(whole, byteOrderMark))
	switch {
	case len(text) == 0:
		return bodyErrorf("the body is empty")
	case text[0] == '{' && j.several(text):
		j.lines = j.mem.lines(bytes.NewReader(whole))
	case text[0] == '{':
		j.one = text
	case text[0] == '[':
		text = whole[bytes.IndexByte(whole, '[')+1:]
		j.whole = window{buf: text[:len(text):len(text)], to: len(text), err: io.EOF}
		j.array = array{window: &j.whole}
	default:
		return bodyErrorf("the body is neither a JSON object nor an array of them: is its Content-Type right?")
	}
	return nil
}

// several reports whether a text is objects on lines rather than one object: if
// more follows the first on another line, or if the first cannot be read and
// the second line is an object.
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
		second = true // text begins with the first
	}
	return false
}

// readAll reads a body whole into the memory for it.
func (mem *Memory) readAll(r io.Reader) ([]byte, error) {
	text := mem.text[:0]
	for {
		if len(text) == cap(text) {
			text = append(text, make([]byte, max(cap(text), 512))...)[:len(text)]
		}
		n, err := r.Read(text[len(text):cap(text)])
		text = text[:len(text)+n]
		if cap(text) <= maxText {
			mem.text = text
		}
		if errors.Is(err, io.EOF) {
			return text, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// maxText is how much memory for bodies is kept.
const maxText = 1 << 20

// element reads the array's next element. If the array breaks off, what came
// before is good, and what comes after cannot be told apart: that is one
// malformed reading.
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
