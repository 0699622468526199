package uplink

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/agent/outbox"
)

const (
	// patience is the number of attempts after which readings are postponed. While any stream has
	// postponed readings, the number is shortPatience.
	patience, shortPatience = 5, 2
	// longPatience is the time spent in attempts after which readings are postponed.
	longPatience = time.Minute
	// halvesLimit is the time spent in attempts after which a body is no longer resent in halves, unless
	// it was refused as invalid.
	halvesLimit = 5 * time.Second
	// probeEvery is the number of accepted bodies after which a larger one is tried, although a body of
	// its size was refused.
	probeEvery = 8
)

// delivery is the state of sending readings of one stream.
type delivery struct {
	stream string
	left   lines // readings without a verdict that are not postponed
	// attempts limits the attempts for the same readings. After them, the readings are postponed if mayPostpone
	// is true and fewer than mostStreams streams have postponed readings. Otherwise, the delivery fails.
	attempts    int
	mayPostpone bool
	// isRetry means that the readings are postponed already. Then the state of the server does not
	// matter.
	isRetry bool
	// mayHalve means that each failed body is resent in halves, because a single reading may be the
	// reason.
	mayHalve bool
	limit    time.Duration // longest duration of one attempt, without the transfer of the body

	part     int           // number of readings in the next body
	refused  int           // upper limit of part, exclusive: the size of a failed body, or more than the readings that are left
	accepted int           // number of accepted bodies
	failures int           // number of consecutive failures
	tried    int           // number of attempts for the same readings
	spent    time.Duration // duration of the attempts in tried, without the waits for the rate
	took     time.Duration // duration of the last attempt

	postponed  map[int]bool // indices of records with postponed readings
	reason     error        // reason of the last postponement
	hasVerdict bool         // whether the server has a verdict on any reading
	isAnswered bool         // whether the last answer has verdicts on some readings
	isStuck    bool         // whether all readings were postponed together
}

// sendBatch sends the records of a batch, one body per stream, until each reading has a verdict or is
// postponed. Then it confirms the records that are not postponed. If that fails, readings are sent twice,
// which is harmless.
func (s *Sender) sendBatch(ctx context.Context, batch *outbox.Batch) error {
	var streams []string
	records := map[string][]int{}
	for i := range batch.Records {
		stream := batch.Records[i].Stream
		if records[stream] == nil {
			streams = append(streams, stream)
		}
		records[stream] = append(records[stream], i)
	}
	var waiting []int
	var full error
	for _, stream := range streams {
		left, err := s.sendStream(ctx, stream, batch, records[stream])
		if errors.Is(err, errFull) {
			full = err // the other streams are sent before the batch is resent
		} else if err != nil {
			return err
		}
		waiting = append(waiting, left...)
	}
	if full != nil {
		return full
	}
	if !batch.HasMore {
		s.paused = time.Now().Add(s.opts.Every)
	}
	return s.opts.Outbox.ConfirmExcept(batch, waiting)
}

// sendStream sends the records of one stream in a batch. It returns the records to be postponed.
func (s *Sender) sendStream(ctx context.Context, stream string, batch *outbox.Batch, records []int) (waiting []int, err error) {
	d := delivery{stream: stream, attempts: patience, mayPostpone: true, limit: attemptLimit}
	if len(s.postponed) > 0 {
		d.attempts, d.limit = shortPatience, retryLimit
	}
	if p := s.postponed[stream]; p != nil {
		if p.isStuck && time.Now().Before(latest(p.trial, s.retryAfter)) {
			s.opts.Events.Postponed(stream, readingsOf(batch, records), nil)
			return records, nil
		}
		d.attempts = 1
	}
	for _, i := range records {
		d.left.add(batch.Records[i].Lines, i)
	}
	if err := s.deliver(ctx, &d); err != nil {
		return nil, err
	}
	for _, i := range records {
		if d.postponed[i] {
			waiting = append(waiting, i)
		}
	}
	s.recordDelivery(&d)
	if len(waiting) > 0 {
		s.opts.Events.Postponed(stream, readingsOf(batch, waiting), d.reason)
	}
	return waiting, nil
}

func readingsOf(batch *outbox.Batch, records []int) (readings int) {
	for _, i := range records {
		readings += batch.Records[i].Readings
	}
	return readings
}

// deliver sends readings of one stream until each has a verdict or is postponed.
func (s *Sender) deliver(ctx context.Context, d *delivery) error {
	d.part = d.left.len()
	d.refused = d.part + 1
	for d.left.len() > 0 {
		d.part = min(d.part, d.left.len())
		left, err := s.attempt(ctx, d)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err = d.record(left, err); err == nil {
			continue
		}
		if d.isExhausted() {
			if !d.mayPostpone {
				return err
			}
			if s.isFull(d.stream) {
				return fmt.Errorf("%w: %w", errFull, err)
			}
			if s.mayPostpone(ctx, d, err) {
				d.postpone(err)
				continue
			}
		}
		if err := s.backOff(ctx, d.failures, err); err != nil {
			return err
		}
	}
	return nil
}

// record applies the result of an attempt. It returns an error if some readings of the body must be resent.
func (d *delivery) record(left retryable, err error) error {
	d.isAnswered = err == nil && len(left.rows) < d.part
	switch {
	case err == nil && len(left.rows) == 0:
		d.left.remove(d.part)
		d.hasVerdict = true
		d.failures, d.tried, d.spent = 0, 0, 0
		if d.accepted++; d.accepted%probeEvery == 0 {
			d.refused = d.left.len() + 1
		}
		d.part = max(1, min(2*d.part, d.refused-1))
		return nil
	case err == nil:
		d.hasVerdict = d.hasVerdict || d.isAnswered
		d.left.replace(d.part, left)
		d.part = len(left.rows)
		err = varve.Errorf(varve.Unavailable, "%s", left.reason)
	case d.isHalved(err) && d.part > 1:
		d.refused = d.part
		d.part = (d.part + 1) / 2
		d.failures = max(d.failures, 1) // a smaller body is not a further attempt, so the wait does not grow
		return err
	}
	d.tried++
	d.failures++
	return err
}

// isHalved reports whether a body is resent in halves after an error. A body that was not refused as
// invalid is halved only if mayHalve is true, and only until halvesLimit. Its halves may get no answer,
// too, and would delay other streams for too long.
func (d *delivery) isHalved(err error) bool {
	return varve.FailureOf(err) == varve.Invalid || d.mayHalve && d.spent < halvesLimit
}

// isExhausted reports whether the readings of the last body were sent often enough.
func (d *delivery) isExhausted() bool {
	return d.tried >= d.attempts || d.mayPostpone && d.tried > 0 && d.spent >= longPatience
}

// mayPostpone reports whether the readings of a delivery may be postponed after an error. An error that
// concerns all streams postpones nothing.
func (s *Sender) mayPostpone(ctx context.Context, d *delivery, err error) bool {
	if d.isRetry {
		return true
	}
	of := varve.FailureOf(err)
	return of != varve.Forbidden && of != varve.Busy && (d.isAnswered || s.isReady(ctx))
}

// postpone removes readings that cannot be stored at present. These are the readings of the last body, if the
// server stores, or may store, others of the stream. Otherwise, these are all readings.
func (d *delivery) postpone(reason error) {
	n := d.left.len()
	if d.hasVerdict || d.postponed == nil && d.part < n && d.isHalved(reason) {
		n = d.part
	} else {
		d.isStuck = true
	}
	if d.postponed == nil {
		d.postponed = map[int]bool{}
	}
	for _, r := range d.left.rows[:n] {
		d.postponed[r.record] = true
	}
	d.reason = reason
	d.left.remove(n)
	d.failures, d.tried, d.spent, d.attempts = 0, 0, 0, 1
	d.part = d.left.len()
	d.refused = d.part + 1
}
