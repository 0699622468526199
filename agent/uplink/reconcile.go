package uplink

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/agent/outbox"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/rollup"
)

// Reconciliation is the result of one comparison of kept readings with the server.
type Reconciliation struct {
	Series   int   // number of requests that compared one series, without failed ones
	Readings int64 // number of compared readings
	// Uncompared is the number of readings in hours with too many readings for the memory of an agent.
	Uncompared int64
	Resent     wire.Tally // verdicts on the resent readings
	// Err is the reason for which the comparison was not completed, or nil. Refused reports whether the
	// server cannot compare, or the key is not allowed to.
	Err     error
	Refused bool
}

const (
	// compareAttempts is the maximum number of requests to compare a series, and of attempts to resend the same
	// readings.
	compareAttempts = 5
	// compareLimit is the longest time for one request. Unconfirmed readings wait for it.
	compareLimit = time.Minute
	// failedSeries is the number of consecutive failed series after which a reconciliation ends.
	failedSeries = 3
)

// untilComparison returns the time until a comparison may be due, or never. Segments are compared together with
// younger ones, and with the segments of the previous comparison. So most hours are complete.
func (s *Sender) untilComparison() time.Duration {
	kept := s.opts.Outbox.Kept()
	if kept.Duration() == 0 {
		return never
	}
	wait := kept.Interval() // a segment may become kept while no records arrive
	for _, k := range kept.Segments() {
		if !k.Compared {
			wait = min(wait, kept.Duration()+kept.Interval()-k.Age)
		}
	}
	return max(wait, time.Until(s.compare.next))
}

// reconcile compares the kept readings with the server, and resends the hours that differ. If that is not
// due, it only saves the cursor of the outbox. It fails only if the cursor cannot be written, or if the
// context ends.
func (s *Sender) reconcile(ctx context.Context) error {
	if s.untilComparison() > 0 {
		return s.opts.Outbox.SaveCursor()
	}
	r := newReconciliation(s)
	err := r.compareAll(ctx)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	r.result.Err, r.result.Refused = err, isRefused(err)
	s.opts.Events.Reconciled(&r.result)
	if !r.result.Refused {
		s.compare.refused = time.Time{}
	}
	switch {
	case err == nil:
		s.compare.failures = 0
		return s.opts.Outbox.Kept().FinishComparison(r.due)
	case r.result.Refused:
		s.compare.next = time.Now().Add(s.opts.Outbox.Kept().Interval())
		return s.removeOld()
	}
	s.compare.failures++
	wait := s.waitAfter(s.compare.failures, err)
	if r.result.Series > 0 && s.compare.failures > 1 { // the next comparison repeats these series
		wait = max(wait, s.opts.Outbox.Kept().Interval())
	}
	s.compare.next = time.Now().Add(wait)
	s.opts.Events.Failed(err, wait)
	return nil
}

// removeOld removes the segments that have been kept for twice Kept.Duration, if the server has refused
// comparisons for Kept.Duration. One refusal is not enough, because a captive portal may answer the first
// request after an outage.
func (s *Sender) removeOld() error {
	kept := s.opts.Outbox.Kept()
	if s.compare.refused.IsZero() {
		s.compare.refused = time.Now()
	}
	if time.Since(s.compare.refused) < kept.Duration() {
		return nil
	}
	young := func(k outbox.KeptSegment) bool { return k.Age < 2*kept.Duration() }
	return kept.RemoveSegments(slices.DeleteFunc(kept.Segments(), young))
}

// isRefused reports whether a server answered that it does not compare readings. Such a server is an
// agent, an older server, or a server that does not allow the comparison with this key.
func isRefused(err error) bool {
	of := varve.FailureOf(err)
	return of == varve.NotFound || of == varve.Forbidden || of == varve.Invalid
}

// giveWay sends unconfirmed and postponed readings, so that they do not wait for the end of a reconciliation.
func (s *Sender) giveWay(ctx context.Context) error {
	if s.untilRetry() <= 0 {
		if err := s.retryPostponed(ctx); err != nil {
			return err
		}
	}
	for time.Now().After(s.paused) {
		batch, err := s.opts.Outbox.TryNext(s.opts.Bytes, s.opts.Readings)
		if batch == nil || err != nil {
			return err
		}
		if err := s.sendBatch(ctx, batch); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// backOffSending is like backOff, but sends unconfirmed readings meanwhile.
func (s *Sender) backOffSending(ctx context.Context, failures int, err error) error {
	wait := s.waitAfter(failures, err)
	s.opts.Events.Failed(err, wait)
	for end := time.Now().Add(wait); ; {
		if err := s.giveWay(ctx); err != nil {
			return err
		}
		left := time.Until(end)
		if left <= 0 {
			return nil
		}
		if err := pause(ctx, min(left, s.opts.Every)); err != nil {
			return err
		}
	}
}

// reconciliation is one comparison of kept readings with the server.
type reconciliation struct {
	*Sender

	due      []outbox.KeptSegment // segments to be compared
	others   []outbox.KeptSegment // segments that may have readings of the same hours
	excluded map[seriesHour]bool  // hours that are too large
	result   Reconciliation
	rows     rowReader
	failed   int   // number of consecutive series that could not be compared
	problem  error // error of a series that could not be compared, or nil
}

func newReconciliation(s *Sender) *reconciliation {
	r := &reconciliation{Sender: s, excluded: map[seriesHour]bool{}}
	kept := s.opts.Outbox.Kept()
	for _, k := range kept.Segments() {
		switch {
		case k.Age >= kept.Duration() && !k.Compared:
			r.due = append(r.due, k)
		case k.Age >= kept.Duration()-2*kept.Interval():
			r.others = append(r.others, k)
		}
	}
	return r
}

// compareAll compares all hours with readings in due segments, and resends the hours that differ. Hours
// that do not fit into memory together are compared in parts. An hour that may not fit even alone is
// excluded.
func (r *reconciliation) compareAll(ctx context.Context) error {
	for parts := []part{everything}; len(parts) > 0; {
		p := parts[len(parts)-1]
		parts = parts[:len(parts)-1]
		h, err := r.collect(ctx, p)
		if err != nil {
			return err
		}
		if h.isFull() {
			parts = append(parts, h.divide()...)
			continue
		}
		if err := r.compareHours(ctx, h); err != nil {
			return err
		}
		if err := r.resend(ctx, h); err != nil {
			return err
		}
		if r.problem == nil {
			r.result.Readings += h.due
		}
	}
	if r.problem != nil {
		return r.problem
	}
	if len(r.excluded) > 0 {
		for _, k := range r.due {
			r.result.Uncompared += k.Readings
		}
		r.result.Uncompared = max(0, r.result.Uncompared-r.result.Readings)
	}
	return nil
}

// collect returns the hours of a part that have readings in due segments, with all their kept readings. It
// stops if these are too many.
func (r *reconciliation) collect(ctx context.Context, p part) (*holdings, error) {
	h := &holdings{part: p, excluded: r.excluded, series: map[seriesName]*hours{}, limit: r.opts.Held}
	err := r.eachReading(ctx, r.due, func(_ []byte, reading *varve.Reading) bool {
		h.addDue(reading)
		return !h.isFull()
	})
	if err != nil || h.isFull() {
		return h, err
	}
	return h, r.eachReading(ctx, r.others, func(_ []byte, reading *varve.Reading) bool {
		h.addOther(reading)
		return !h.isFull()
	})
}

// eachReading calls the function "use" with each valid reading in some segments and its line, until the
// function returns false.
func (r *reconciliation) eachReading(ctx context.Context, segments []outbox.KeptSegment, use func(line []byte, reading *varve.Reading) bool) error {
	for _, k := range segments {
		for batch, err := range r.opts.Outbox.Kept().ReadSegment(k, r.opts.Bytes, r.opts.Readings) {
			if err != nil {
				return err
			}
			for i := range batch.Records {
				if more, err := r.rows.each(&batch.Records[i], use); err != nil || !more {
					return err
				}
			}
			if err := r.giveWay(ctx); err != nil { // afterward, the batch is invalid
				return err
			}
		}
	}
	return nil
}

// compareHours compares the hours of each series with the server. It releases the hours that are equal. If
// the comparison of a series fails, the other series are still compared and resent.
// After failedSeries consecutive failures, compareHours fails.
func (r *reconciliation) compareHours(ctx context.Context, h *holdings) error {
	for name, held := range h.series {
		differ, err := r.compareSeries(ctx, name, held)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err == nil:
			r.result.Series++
			r.failed = 0
		default:
			if r.problem == nil || isRefused(r.problem) {
				r.problem = err
			}
			if r.failed++; r.failed == failedSeries {
				return r.problem
			}
		}
		h.retain(name, differ)
		if err := r.giveWay(ctx); err != nil {
			return err
		}
	}
	return nil
}

// compareSeries returns the starts of the hours that differ. It makes up to compareAttempts attempts, but
// does not repeat a refused one.
func (r *reconciliation) compareSeries(ctx context.Context, name seriesName, held *hours) (differ []int64, err error) {
	post := wire.DigestsPost{Period: rollup.Hourly.String()}
	periods := 0
	for _, span := range held.set.Spans(rollup.Hourly, nil) {
		post.Spans = append(post.Spans, wire.DigestsSpan(span))
		periods += len(span.Digests)
	}
	const requestBytes, digestBytes = 512, 12 // approximate size of a request
	for failures := 1; ; failures++ {
		if err := r.await(ctx, requestBytes+digestBytes*periods, 0); err != nil {
			return nil, err
		}
		limited, stop := context.WithTimeout(ctx, compareLimit)
		answer, err := r.opts.Client.CompareDigests(limited, name.stream, name.device, post)
		stop()
		if err == nil && answer.Compared != periods {
			err = varve.Errorf(varve.Unavailable, "the answer compares %d hours of %d: check that server.url is a Varve server", answer.Compared, periods)
		}
		if err == nil {
			return parseStarts(answer.Differ)
		}
		if ctx.Err() != nil || isRefused(err) || failures == compareAttempts {
			return nil, err
		}
		if err := r.backOffSending(ctx, failures, err); err != nil {
			return nil, err
		}
	}
}

func parseStarts(texts []string) (starts []int64, err error) {
	for _, text := range texts {
		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			return nil, errors.Join(errors.New("the server answered an invalid time"), err)
		}
		starts = append(starts, at.Unix())
	}
	return starts, nil
}

// resend sends all kept readings of the hours that differ. It returns nil when each reading has a verdict.
func (r *reconciliation) resend(ctx context.Context, h *holdings) error {
	if len(h.series) == 0 {
		return nil
	}
	var sending bundle
	var failed error
	err := r.eachReading(ctx, slices.Concat(r.due, r.others), func(line []byte, reading *varve.Reading) bool {
		if !h.has(hourOf(reading)) {
			return true
		}
		if sending.add(reading.Stream, line); sending.readings >= r.opts.Readings || sending.bytes >= r.opts.Bytes {
			failed = r.send(ctx, &sending)
		}
		return failed == nil
	})
	if err = errors.Join(err, failed); err != nil {
		return err
	}
	return r.send(ctx, &sending)
}

// send sends a bundle, one body per stream, and empties it.
func (r *reconciliation) send(ctx context.Context, b *bundle) error {
	for _, stream := range b.streams {
		before := r.total
		d := delivery{stream: stream, left: *b.lines[stream], attempts: compareAttempts, limit: attemptLimit}
		if err := r.deliver(ctx, &d); err != nil {
			return varve.Errorf(varve.Unavailable, "resend readings: %s", err) // never a refusal of comparisons
		}
		r.result.Resent.Add(difference(r.total, before))
	}
	*b = bundle{}
	return nil
}

func difference(after, before wire.Tally) wire.Tally {
	return wire.Tally{
		Stored: after.Stored - before.Stored, Duplicates: after.Duplicates - before.Duplicates,
		Rejected: after.Rejected - before.Rejected, Queued: after.Queued - before.Queued,
	}
}
