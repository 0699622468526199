package uplink

import (
	"context"
	"errors"
	"time"
)

// mostStreams is the maximum number of streams with postponed readings.
const mostStreams = 100

// errFull means that readings of a stream are not postponed, because mostStreams other streams have
// postponed readings.
var errFull = errors.New("too many streams have postponed readings")

// rest is a factor: if an attempt for a stuck stream fails after the time d, no other such attempt begins for
// rest*d. So attempts without an answer take at most a tenth of the time, and the rest is for other readings.
const rest = 9

// postponedStream is the state of a stream with postponed readings.
type postponedStream struct {
	// isStuck means that the server stored nothing of the last body. Then further readings are
	// postponed without an attempt until the time in trial.
	isStuck bool
	trial   time.Time
	next    time.Time     // time of the next body of postponed readings
	wait    time.Duration // time to wait after the last failure
	size    int           // maximum number of readings in the next body
	turn    int           // selects the range of postponed readings
}

// loadPostponed adds the streams with postponed readings of an earlier run.
func (s *Sender) loadPostponed() {
	for _, stream := range s.opts.Outbox.Postponed().Streams() {
		s.postponed[stream] = &postponedStream{isStuck: true, size: s.opts.Readings}
	}
}

// untilRetry returns the time until postponed readings are due. It returns never if none exist.
func (s *Sender) untilRetry() time.Duration {
	stream := s.firstPostponed()
	if stream == "" {
		return never
	}
	return max(time.Until(s.postponed[stream].next), time.Until(s.retryAfter))
}

// firstPostponed returns the stream whose postponed readings are due first, or "".
func (s *Sender) firstPostponed() (first string) {
	for stream, p := range s.postponed {
		if of := s.postponed[first]; of == nil || p.next.Before(of.next) {
			first = stream
		}
	}
	return first
}

// recordDelivery updates the state of a stream after readings of a batch were sent.
func (s *Sender) recordDelivery(d *delivery) {
	p := s.postponed[d.stream]
	if p == nil && d.postponed == nil {
		return
	}
	now := time.Now()
	if p == nil {
		p = &postponedStream{size: s.opts.Readings, next: now.Add(s.opts.Retry)}
		s.postponed[d.stream] = p
	}
	if p.isStuck && d.hasVerdict { // the server stores the stream again
		p.next, p.wait = now, 0
	}
	if p.isStuck = d.isStuck && !d.hasVerdict; p.isStuck {
		p.trial = now.Add(max(p.wait, s.opts.Retry, rest*d.took))
		p.next = latest(p.next, now.Add(s.opts.Retry)) // the next postponed readings may be the ones that were just sent
		s.retryAfter = latest(s.retryAfter, now.Add(rest*d.took))
	}
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// isFull reports whether the readings of a stream cannot be postponed, because too many other streams have some.
func (s *Sender) isFull(stream string) bool {
	return s.postponed[stream] == nil && len(s.postponed) >= mostStreams
}

// retryAll sends postponed readings while some are due, after a batch failed with errFull. It returns nil if the
// readings of one more stream can be postponed now. Otherwise, it returns the error of a retry or of the
// batch.
func (s *Sender) retryAll(ctx context.Context, full error) error {
	for s.untilRetry() <= 0 {
		if err := s.retryPostponed(ctx); err != nil {
			return err
		}
	}
	if len(s.postponed) < mostStreams {
		return nil
	}
	return full
}

// retryPostponed sends one body of postponed readings, of the stream that is due first.
func (s *Sender) retryPostponed(ctx context.Context) error {
	stream := s.firstPostponed()
	p := s.postponed[stream]
	batch, err := s.opts.Outbox.Postponed().Next(stream, p.turn, s.opts.Bytes, p.size)
	if err != nil {
		return err
	}
	if batch == nil {
		if !p.isStuck {
			delete(s.postponed, stream)
		}
		p.isStuck, p.next = false, time.Now().Add(s.opts.MaxWait)
		return nil
	}
	d := delivery{stream: stream, attempts: 1, mayPostpone: true, isRetry: true, limit: retryLimit}
	d.mayHalve = len(batch.Records) == 1 && !p.isStuck
	for i := range batch.Records {
		d.left.add(batch.Records[i].Lines, i)
	}
	if err := s.deliver(ctx, &d); err != nil {
		return err
	}
	var waiting []int
	for i := range batch.Records {
		if d.postponed[i] {
			waiting = append(waiting, i)
		}
	}
	if len(waiting) < len(batch.Records) {
		if p.recordProgress(s.opts.Readings); len(waiting) > 0 {
			p.next = p.next.Add(s.opts.Retry) // the range may include confirmed readings, and be resent without end
			p.turn++
		}
		return s.opts.Outbox.Postponed().Confirm(batch, waiting)
	}
	p.wait = max(s.opts.Retry, min(2*p.wait, s.opts.MaxWait))
	now := time.Now()
	p.next, s.retryAfter = now.Add(p.wait), now.Add(rest*d.took)
	p.trial = latest(p.trial, now.Add(s.opts.Retry)) // copies of these readings may be in the next batch
	s.opts.Events.Failed(d.reason, p.wait)
	if !s.isReady(ctx) {
		return nil
	}
	p.recordFailure(batch.Readings)
	if len(batch.Records) > 1 {
		return nil
	}
	return s.opts.Outbox.Postponed().Confirm(batch, waiting) // a record that fails alone does not delay others
}

// recordProgress records that the server has verdicts on postponed readings.
func (p *postponedStream) recordProgress(most int) {
	p.isStuck, p.wait, p.next = false, 0, time.Now()
	p.size = min(2*p.size, most)
}

// recordFailure records that a body of postponed readings got no verdict from a server that is ready. The next
// body is smaller, because a single reading may be the reason.
func (p *postponedStream) recordFailure(readings int) {
	p.size = max(1, readings/2)
	p.turn++
}
