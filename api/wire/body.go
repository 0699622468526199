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
	mem      *Memory
	body     io.Reader
	begun    bool
	one      []byte      // the object, if it is one
	array    *jx.ArrIter // the array, if it is one
	lines    *ndjson     // the lines, if it is those
	elements int
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
		if !j.mem.object.into(b, j.one, 0) {
			return bodyErrorf("the body is %s", b.Verdicts[len(b.Verdicts)-1].Message)
		}
		return io.EOF
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
	text, err := j.mem.readAll(io.LimitReader(j.body, MaxJSON+1))
	if err != nil {
		return err
	}
	if len(text) > MaxJSON {
		return bodyErrorf("a JSON body is at most %d MiB: send more as NDJSON (Content-Type: application/x-ndjson)", MaxJSON>>20)
	}
	text = bytes.TrimSpace(text)
	switch {
	case len(text) == 0:
		return bodyErrorf("the body is empty")
	case text[0] == '{' && j.several(text):
		j.lines = j.mem.lines(bytes.NewReader(text))
	case text[0] == '{':
		j.one = text
	case text[0] == '[':
		j.mem.array.ResetBytes(text)
		iter, err := j.mem.array.ArrIter()
		if err != nil {
			return bodyErrorf("the body is not a JSON array: %s", tidy(err))
		}
		j.array = &iter
	default:
		return bodyErrorf("the body is neither a JSON object nor an array of them: is its Content-Type right?")
	}
	return nil
}

// several reports whether another object follows the first.
func (j *jsonBody) several(text []byte) bool {
	j.mem.array.ResetBytes(text)
	return j.mem.array.Skip() == nil && j.mem.array.Next() == jx.Object
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
	if !j.array.Next() {
		err := j.array.Err()
		if err == nil {
			if err = j.end(); err == nil {
				return io.EOF
			}
		}
		return j.broken(b, err)
	}
	text, err := j.mem.array.Raw()
	if err != nil {
		return j.broken(b, err)
	}
	j.elements++
	j.mem.object.into(b, text, 0)
	return nil
}

// end checks that nothing follows the array.
func (j *jsonBody) end() error {
	err := j.mem.array.Skip()
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	if err == nil {
		err = errors.New("more follows the array")
	}
	return err
}

func (j *jsonBody) broken(b *Batch, err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = errors.New("the body ends here")
	}
	if j.elements == 0 {
		return bodyErrorf("the body is not a JSON array of readings: %s", tidy(err))
	}
	b.add(0)
	b.reject(varve.Reject(varve.CodeMalformed, "the JSON breaks off in this reading: %s", tidy(err)))
	return io.EOF
}
