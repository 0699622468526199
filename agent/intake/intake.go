// Package intake writes the readings of local devices to the outbox of an agent.
//
//	ingest.Session ──▶ Destination ──▶ NDJSON records ──▶ outbox.Append ──▶ verdicts: queued
//
// [Destination] is the [ingest.Destination] of all doors of an agent: HTTP, line protocol and MQTT.
// It checks readings as a server does, but compares them neither with the clock nor with stored
// readings.
//
// These rules always hold:
//
//   - A valid reading gets the verdict [varve.Queued] after it is durable on the disk of the agent.
//   - The number of writes is limited, and so is the number of large writes that are decoded at the
//     same time. So the memory of an agent is bounded.
//
// If too many writes are running, Admit fails with varve.Busy. If the outbox cannot store readings,
// they are rejected as unavailable. In both cases, the device may retry. After a crash, a write
// without an answer may be stored or not. Destination is safe for concurrent use.
package intake

import (
	"context"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/agent/outbox"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/ingest"
)

// BatchReadings is the maximum number of readings that a session of an agent decodes at a time.
const BatchReadings = 500

const (
	// maxRequests is the maximum number of writes at the same time.
	maxRequests = 64
	// maxDecoding is the maximum number of large writes that are decoded at the same time.
	maxDecoding = 2
	// recordBytes is the length of Record.Lines, in bytes, from which a record gets no further reading.
	recordBytes = 32 << 10
)

// Destination writes readings to an outbox. It is safe for concurrent use.
type Destination struct {
	box      *outbox.Outbox
	now      func() time.Time
	requests chan struct{}
	decoding chan struct{}
}

// New returns a destination for an outbox.
func New(box *outbox.Outbox, now func() time.Time) *Destination {
	return &Destination{box: box, now: now, requests: make(chan struct{}, maxRequests), decoding: make(chan struct{}, maxDecoding)}
}

// Admit implements ingest.Destination. It fails with varve.Busy while maxRequests writes are
// running.
func (d *Destination) Admit() (ingest.Request, error) {
	select {
	case d.requests <- struct{}{}:
		return &request{to: d, arrived: d.now()}, nil
	default:
		return nil, &varve.Error{Failure: varve.Busy, RetryAfter: time.Second, Message: "too many writes at the same time: retry in a second"}
	}
}

// request is one write. It implements ingest.Request and ingest.Turn.
type request struct {
	to      *Destination
	arrived time.Time
	hasSlot bool // whether the request has one of the slots for decoding large writes
	large   bool
	streams []streamRecords
	line    []byte // memory of encode
}

type streamRecords struct {
	stream  string
	records []outbox.Record
}

func (q *request) Arrived() time.Time { return q.arrived }

func (q *request) Turn() ingest.Turn { return q }

func (q *request) Done() { <-q.to.requests }

// Begin waits for a slot if the request is large.
func (q *request) Begin(ctx context.Context, large bool) error {
	if q.large = large; !large || q.hasSlot {
		return nil
	}
	select {
	case q.to.decoding <- struct{}{}:
		q.hasSlot = true
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// End frees the slot of the request. It returns false if the request has none.
func (q *request) End() (hadSlot bool) {
	if hadSlot = q.hasSlot; hadSlot {
		q.hasSlot = false
		<-q.to.decoding
	}
	return hadSlot
}

// Check rejects readings that every server would reject.
func (q *request) Check(readings []varve.Reading, verdicts []varve.Verdict) {
	for i := range readings {
		if verdicts[i].Outcome == 0 {
			verdicts[i] = readings[i].NormalizeNew()
		}
	}
}

// Write stores readings in the outbox. If the outbox cannot store them, they are rejected with a
// retryable code.
func (q *request) Write(ctx context.Context, readings []varve.Reading, verdicts []varve.Verdict) error {
	q.Check(readings, verdicts)
	for len(readings) > 0 {
		records, n := q.encode(readings, verdicts)
		if err := q.append(ctx, records, verdicts[:n]); err != nil {
			return err
		}
		readings, verdicts = readings[n:], verdicts[n:]
	}
	return nil
}

// append appends records to the outbox, and sets the verdicts on their readings. It fails only if ctx ends.
func (q *request) append(ctx context.Context, records []outbox.Record, verdicts []varve.Verdict) error {
	if len(records) == 0 {
		return nil
	}
	hadSlot := q.End() // other requests may decode while the disk syncs
	verdict := varve.Verdict{Outcome: varve.Queued}
	if err := q.to.box.Append(ctx, records); err != nil {
		verdict = varve.Reject(varve.CodeUnavailable, "%s", err)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	for i := range verdicts {
		if verdicts[i].Outcome == 0 {
			verdicts[i] = verdict
		}
	}
	if hadSlot {
		return q.Begin(ctx, q.large)
	}
	return nil
}

// encode returns records with the first n readings, except readings that have a verdict. A stream has one
// record or several. The lines of the records have at most a quarter of MaxBytes of the outbox, unless they
// are a single reading. So Append does not refuse them as too large: its limit is half of MaxBytes, and a
// reading is much smaller.
func (q *request) encode(readings []varve.Reading, verdicts []varve.Verdict) (all []outbox.Record, n int) {
	q.streams = q.streams[:0]
	size := int64(0)
	for ; n < len(readings); n++ {
		if verdicts[n].Outcome != 0 {
			continue
		}
		q.line = append(wire.AppendSubmission(q.line[:0], &readings[n]), '\n')
		if size += int64(len(q.line)); size > q.to.box.MaxBytes()/4 && size > int64(len(q.line)) {
			break
		}
		r := q.record(readings[n].Stream)
		r.Lines = append(r.Lines, q.line...)
		r.Readings++
	}
	for i := range q.streams {
		all = append(all, q.streams[i].records...)
	}
	return all, n
}

// record returns the record to which the next reading of a stream is appended.
func (q *request) record(stream string) *outbox.Record {
	at := 0
	for at < len(q.streams) && q.streams[at].stream != stream {
		at++
	}
	if at == len(q.streams) {
		q.streams = append(q.streams, streamRecords{stream: stream})
	}
	s := &q.streams[at]
	if n := len(s.records); n == 0 || len(s.records[n-1].Lines) >= recordBytes {
		s.records = append(s.records, outbox.Record{Stream: stream})
	}
	return &s.records[len(s.records)-1]
}
