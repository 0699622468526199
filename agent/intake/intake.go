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
	"github.com/varvedb/varve/ingest"
)

// Limits of the readings that a session of an agent decodes at a time.
const (
	BatchReadings = 250
	BatchBytes    = 64 << 10
)

const (
	// maxRequests is the maximum number of writes at the same time.
	maxRequests = 64
	// maxDecoding is the maximum number of large writes that are decoded at the same time.
	maxDecoding = 2
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
	e := encoders.Get()
	defer e.release()
	// Append refuses half of MaxBytes, and a reading is much smaller than a quarter.
	maxBytes := q.to.box.MaxBytes() / 4
	for len(readings) > 0 {
		records, n := e.encode(readings, verdicts, maxBytes)
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
