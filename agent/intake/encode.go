package intake

import (
	"github.com/varvedb/varve"
	"github.com/varvedb/varve/agent/outbox"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/internal/reuse"
)

const (
	// recordBytes is the length of Record.Lines, in bytes, from which a record gets no further reading.
	recordBytes = 32 << 10
	// keptBytes is the maximum memory of an encoder that later writes reuse.
	keptBytes = 4 * recordBytes
)

// encoder encodes readings as records. Its records are valid until the next call of encode or release.
type encoder struct {
	records []outbox.Record // the elements beyond the length have the memory of earlier records
	streams []streamRecord
	line    []byte
}

// streamRecord is the index of the record that gets the next reading of a stream.
type streamRecord struct {
	stream string
	record int
}

// encoders holds encoders that are not in use. Later writes reuse their memory.
var encoders reuse.List[encoder]

// release makes the encoder available to other writes. Memory that few writes need is released.
func (e *encoder) release() {
	size := 0
	for _, r := range e.records[:cap(e.records)] {
		size += cap(r.Lines)
	}
	if size > keptBytes {
		*e = encoder{}
	}
	encoders.Put(e)
}

// encode returns records with the first n readings, except readings that have a verdict. A stream has one
// record or several. The lines of the records have at most maxBytes, unless they are a single reading.
func (e *encoder) encode(readings []varve.Reading, verdicts []varve.Verdict, maxBytes int64) (records []outbox.Record, n int) {
	e.records, e.streams = e.records[:0], e.streams[:0]
	size := int64(0)
	for ; n < len(readings); n++ {
		if verdicts[n].Outcome != 0 {
			continue
		}
		e.line = append(wire.AppendSubmission(e.line[:0], &readings[n]), '\n')
		if size += int64(len(e.line)); size > maxBytes && size > int64(len(e.line)) {
			break
		}
		r := e.record(readings[n].Stream)
		r.Lines = append(r.Lines, e.line...)
		r.Readings++
	}
	return e.records, n
}

// record returns the record to which the next reading of a stream is appended.
func (e *encoder) record(stream string) *outbox.Record {
	at := 0
	for at < len(e.streams) && e.streams[at].stream != stream {
		at++
	}
	if at == len(e.streams) {
		e.streams = append(e.streams, streamRecord{stream, e.add(stream)})
	}
	s := &e.streams[at]
	if len(e.records[s.record].Lines) >= recordBytes {
		s.record = e.add(stream)
	}
	return &e.records[s.record]
}

// add appends an empty record, and returns its index.
func (e *encoder) add(stream string) int {
	n := len(e.records)
	if n == cap(e.records) {
		e.records = append(e.records, outbox.Record{})
	}
	e.records = e.records[:n+1]
	e.records[n] = outbox.Record{Stream: stream, Lines: e.records[n].Lines[:0]}
	return n
}
