package wire

import (
	"errors"
	"io"

	"github.com/varvedb/varve"
)

var ndjsonEntry = entry{
	title: "NDJSON", name: "ndjson",
	media:      []string{"application/x-ndjson", "application/ndjson", "application/jsonl"},
	bodyMedia:  []string{"application/x-jsonlines", "application/json-lines"},
	extensions: []string{".ndjson", ".jsonl"},
	newReader: func(mem *Memory, body io.Reader, d Defaults, _ Columns) (Reader, error) {
		mem.object.Defaults = d
		return mem.lines(body), nil
	},
	newCutter: func(b *buffer, _ Columns) cutter { return &lineCutter{buffer: b} },
}

// ndjson parses one object per line. A line that is not an object is one malformed reading, and does not
// affect the next line.
type ndjson struct {
	buffer *buffer
	object *object
}

// Read implements Reader.
func (n *ndjson) Read(b *Batch) error {
	for !b.Full() {
		if err := n.buffer.skipBlankLines(); err != nil {
			return err
		}
		line := n.buffer.line
		text, err := n.buffer.firstLine()
		switch {
		case errors.Is(err, errLineTooLong):
			b.add(line)
			b.reject(varve.Reject(varve.CodeTooLarge, "the line is longer than %d bytes", maxLine))
			if err := n.buffer.skipLine(); err != nil {
				return err
			}
			continue
		case err != nil && !errors.Is(err, io.EOF):
			return err // the rest of the line may be a partial reading
		}
		if object := trimBlanks(text); len(object) > 0 {
			n.object.into(b, object, line)
		}
		n.buffer.consume(len(text))
		if err != nil {
			return err
		}
	}
	return nil
}

func (mem *Memory) lines(body io.Reader) *ndjson {
	mem.buffer.reset(body)
	mem.buffer.bounded = true
	mem.ndjson = ndjson{buffer: &mem.buffer, object: &mem.object}
	return &mem.ndjson
}
