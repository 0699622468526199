package wire

import (
	"errors"
	"io"

	"github.com/varvedb/varve"
)

// ndjson parses one object per line. A line that is not an object is one malformed reading, and
// the next line is read.
type ndjson struct {
	window *window
	object *object
}

// Read implements Reader.
func (n *ndjson) Read(b *Batch) error {
	for !b.Full() {
		if err := n.window.skipBlankLines(); err != nil {
			return err
		}
		line := n.window.line
		text, err := n.window.first()
		switch {
		case errors.Is(err, errLineTooLong):
			b.add(line)
			b.reject(varve.Reject(varve.CodeTooLarge, "the line is longer than %d bytes", maxLine))
			if err := n.window.skipLine(); err != nil {
				return err
			}
			continue
		case err != nil && !errors.Is(err, io.EOF):
			return err // the rest of the line may be a partial reading
		}
		if object := trimBlanks(text); len(object) > 0 {
			n.object.into(b, object, line)
		}
		n.window.take(len(text))
		if err != nil {
			return err
		}
	}
	return nil
}
