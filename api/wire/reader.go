package wire

import (
	"fmt"
	"io"

	"github.com/go-faster/jx"

	"github.com/varvedb/varve"
)

// BodyError is the error of a body that cannot be parsed to its end.
type BodyError struct {
	Message string
	Param   string // the parameter of a write that can solve the problem, or ""
}

func (e *BodyError) Error() string { return e.Message }

func bodyErrorf(format string, args ...any) error {
	return &BodyError{Message: fmt.Sprintf(format, args...)}
}

// Reader reads the readings of a body.
type Reader interface {
	// Read adds readings to the batch until it is full. At the end of the body the error is io.EOF. Any
	// other error ends the body: it is a BodyError, or an error from reading the body. The batch has the
	// readings before the error.
	Read(b *Batch) error
}

// Memory has the buffers of a reader. Several readers may use it, one after another. The zero Memory is
// ready to use.
type Memory struct {
	buffer buffer
	json   jsonBody
	ndjson ndjson
	object object
	line   lineReader
	second jx.Decoder
}

// NewReader returns a reader of a body in a format. The reader uses mem, so no other reader may use mem
// before the last call of Read. The argument columns applies only to CSV.
func NewReader(mem *Memory, f Format, body io.Reader, d Defaults, columns Columns) (Reader, error) {
	newReader := f.entry().newReader
	if newReader == nil {
		return nil, varve.Errorf(varve.Internal, "readings in %s cannot be read", f)
	}
	return newReader(mem, body, d, columns)
}
