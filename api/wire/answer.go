package wire

import (
	"fmt"
	"io"

	"github.com/varvedb/varve"
)

// AnswerReader reads the readings of an NDJSON answer, for clients.
type AnswerReader struct {
	mem Memory
	in  *ndjson
}

// NewAnswerReader returns a reader for an answer about one series.
func NewAnswerReader(body io.Reader, s varve.Series) *AnswerReader {
	a := new(AnswerReader)
	a.mem.object = object{Defaults: Defaults{Tenant: s.Tenant, Stream: s.Stream, Device: s.Device}, answers: true}
	a.in = a.mem.lines(body)
	return a
}

// Read adds readings to the batch until it is full. At the end of the answer it returns io.EOF. An invalid
// reading makes it fail.
func (a *AnswerReader) Read(b *Batch) error {
	from := b.Len()
	err := a.in.Read(b)
	for i := from; i < b.Len(); i++ {
		if v := b.Verdicts[i]; v.Outcome == varve.Rejected {
			return fmt.Errorf("line %d of the answer: %s", b.Lines[i], v.Message)
		}
	}
	return err
}

// ParseAnswer parses one reading of an answer.
func ParseAnswer(text []byte, s varve.Series) (varve.Reading, error) {
	o := object{Defaults: Defaults{Tenant: s.Tenant, Stream: s.Stream, Device: s.Device}, answers: true}
	var b Batch
	o.into(&b, text, 0)
	if v := b.Verdicts[0]; v.Outcome == varve.Rejected {
		return varve.Reading{}, fmt.Errorf("a reading in the answer: %s", v.Message)
	}
	return b.Readings[0], nil
}
