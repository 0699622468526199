// Package uplink sends the readings in an outbox to a server.
//
//	outbox.Next ──▶ one body per stream ──▶ rate ──▶ POST readings ──▶ verdicts ──▶ outbox.Confirm
//	                        ▲                             │
//	                        └───── back-off, halves ──────┘
//
//	outbox.Kept ──▶ digests of hours ──▶ POST digests ──▶ readings of the hours that differ ──▶ POST readings
//
// Sender is the main type. Between uploads, it compares the confirmed readings that the outbox keeps with
// the server, and resends the hours that differ. So a server gets the readings that it has lost, for
// example because it was restored from a backup.
//
// These rules always hold:
//
//   - A reading is confirmed only by a verdict of the server: stored, duplicate, or rejected permanently.
//     A queued reading is on the disk of another agent, and is confirmed, too.
//   - An answer that does not count each reading of its body confirms nothing. So the answer of another
//     server, such as a captive portal, loses no reading.
//   - A reading that the server may store later is resent. With Options.Postpone, it moves to the end
//     of the outbox after five such answers, so that it does not delay other readings. It does not
//     move while the outbox is more than half full.
//   - A body that is refused as invalid is resent in halves, because the answer may come from a proxy that
//     limits the size of bodies.
//   - Unconfirmed readings do not wait for a comparison: they are sent after each of its requests.
//   - A kept reading is forgotten after a comparison in which all readings to be resent got a verdict. If the
//     server refuses comparisons for long, kept readings are forgotten after twice outbox.Options.Keep. After
//     a failure, none are forgotten.
package uplink

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"golang.org/x/time/rate"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/agent/outbox"
	"github.com/varvedb/varve/api/client"
	"github.com/varvedb/varve/api/wire"
)

// Options configure a sender. Outbox and Client are required.
type Options struct {
	Outbox *outbox.Outbox
	// Client makes one attempt per call, without retries of its own.
	Client *client.Client
	// Readings and Bytes limit one body, before compression. 0 means 1,000 and 128 KiB.
	Readings, Bytes int
	// ReadingsPerSecond and BytesPerSecond limit the rate. Bytes are counted after compression. 0 means
	// no limit.
	ReadingsPerSecond, BytesPerSecond int
	// Every is the shortest time between two bodies that are not full. 0 means one second.
	Every time.Duration
	// Postpone moves readings that the server cannot store to the end of the outbox, after five
	// answers. It must be false if the outbox returns the newest records first, because these
	// readings would be next.
	Postpone bool
	// MaxWait limits the wait between two attempts. 0 means 5 minutes.
	MaxWait time.Duration
	// Held limits the number of kept readings that are compared at a time. Each takes 16 bytes, and an hour
	// of a series as much as 32 readings. An hour with more than half of them is not compared. 0 means
	// 65,536.
	Held   int
	Events Events
}

// Events has callbacks. A nil callback is not called.
type Events struct {
	// Sent is called after each valid answer, with the number of verdicts and of compressed bytes
	// of the body.
	Sent func(t varve.Tally, bytes int)
	// Failed is called after each failed attempt, with the time until the next one.
	Failed func(err error, retry time.Duration)
	// Rejected is called for each reading that the server rejected permanently.
	Rejected func(stream string, r *wire.Reject)
	// Postponed is called after readings moved to the end of the outbox.
	Postponed func(stream string, readings int)
	// Reconciled is called after each comparison of kept readings.
	Reconciled func(r *Reconciliation)
}

func (e Events) withDefaults() Events {
	if e.Sent == nil {
		e.Sent = func(varve.Tally, int) {}
	}
	if e.Failed == nil {
		e.Failed = func(error, time.Duration) {}
	}
	if e.Rejected == nil {
		e.Rejected = func(string, *wire.Reject) {}
	}
	if e.Postponed == nil {
		e.Postponed = func(string, int) {}
	}
	if e.Reconciled == nil {
		e.Reconciled = func(*Reconciliation) {}
	}
	return e
}

const (
	defaultReadings = 1000
	defaultBytes    = 128 << 10
	defaultEvery    = time.Second
	defaultMaxWait  = 5 * time.Minute
	defaultHeld     = 1 << 16
	// firstWait is the wait after the first failed attempt.
	firstWait = 500 * time.Millisecond
	// postponeAfter is the number of answers without a final verdict after which readings are postponed.
	postponeAfter = 5
)

// Sender sends readings. Run must be called only once.
type Sender struct {
	opts     Options
	bytes    *rate.Limiter // limits the bytes sent per second; nil means no limit
	readings *rate.Limiter // limits the readings sent per second; nil means no limit
	body     packer
	total    varve.Tally // verdicts on all readings
	paused   time.Time   // end of the pause after a batch that was not full
	compare  struct {    // state of the comparisons of kept readings
		failures int       // number of comparisons that failed since the last success
		next     time.Time // earliest time of the next comparison
		refused  time.Time // time of the first of consecutive refusals, or zero
	}
}

// New returns a sender.
func New(o Options) *Sender {
	if o.Readings == 0 {
		o.Readings = defaultReadings
	}
	if o.Bytes == 0 {
		o.Bytes = defaultBytes
	}
	if o.Every == 0 {
		o.Every = defaultEvery
	}
	if o.MaxWait == 0 {
		o.MaxWait = defaultMaxWait
	}
	if o.Held == 0 {
		o.Held = defaultHeld
	}
	o.Events = o.Events.withDefaults()
	return &Sender{opts: o, bytes: limiter(o.BytesPerSecond), readings: limiter(o.ReadingsPerSecond)}
}

func limiter(perSecond int) *rate.Limiter {
	if perSecond == 0 {
		return nil
	}
	return rate.NewLimiter(rate.Limit(perSecond), perSecond)
}

// Run sends readings until the context ends or the outbox is closed.
func (s *Sender) Run(ctx context.Context) {
	for failures := 0; ; {
		batch, err := s.nextBatch(ctx)
		if ctx.Err() != nil || errors.Is(err, outbox.ErrClosed) {
			return
		}
		switch {
		case err != nil:
		case batch == nil:
			err = s.reconcile(ctx)
		default:
			err = s.sendBatch(ctx, batch)
		}
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			failures++
			if s.backOff(ctx, failures, err) != nil {
				return
			}
			continue
		}
		failures = 0
		if pause(ctx, time.Until(s.paused)) != nil {
			return
		}
	}
}

// nextBatch waits for unconfirmed records. It returns nil if a comparison may be due. A backlog does not
// wait for the comparison: see giveWay.
func (s *Sender) nextBatch(ctx context.Context) (*outbox.Batch, error) {
	if s.opts.Outbox.Kept().Duration() == 0 {
		return s.opts.Outbox.Next(ctx, s.opts.Bytes, s.opts.Readings)
	}
	wait := s.untilComparison()
	if wait <= 0 {
		return nil, nil
	}
	waiting, stop := context.WithTimeout(ctx, wait)
	defer stop()
	batch, err := s.opts.Outbox.Next(waiting, s.opts.Bytes, s.opts.Readings)
	if err != nil && waiting.Err() != nil && ctx.Err() == nil {
		return nil, nil
	}
	return batch, err
}

// pause waits. It fails if the context ends.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// backOff reports a failure and waits.
func (s *Sender) backOff(ctx context.Context, failures int, err error) error {
	wait := s.waitAfter(failures, err)
	s.opts.Events.Failed(err, wait)
	return pause(ctx, wait)
}

// waitAfter returns the wait after a failure. It grows with the number of failures, and is random, so
// that agents do not return at the same time after an outage.
func (s *Sender) waitAfter(failures int, err error) time.Duration {
	wait := s.opts.MaxWait
	if failures < 20 {
		wait = min(wait, firstWait<<(failures-1))
	}
	wait = wait/2 + rand.N(wait/2+1)
	var e *varve.Error
	if errors.As(err, &e) {
		wait = min(max(wait, e.RetryAfter), s.opts.MaxWait)
	}
	return wait
}

// sendBatch sends the records of a batch, one body per stream, until each reading has a verdict or is
// postponed. Then it confirms them. If that fails, readings are sent twice, which is harmless.
func (s *Sender) sendBatch(ctx context.Context, batch *outbox.Batch) error {
	var streams []string
	bodies := map[string]*lines{}
	for i := range batch.Records {
		r := &batch.Records[i]
		if bodies[r.Stream] == nil {
			streams = append(streams, r.Stream)
			bodies[r.Stream] = &lines{}
		}
		bodies[r.Stream].add(r.Lines)
	}
	for _, stream := range streams {
		if err := s.sendLines(ctx, stream, bodies[stream], 0); err != nil {
			return err
		}
	}
	if batch.Readings < s.opts.Readings/2 {
		s.paused = time.Now().Add(s.opts.Every)
	}
	return s.opts.Outbox.Confirm(batch)
}

// sendLines sends readings of one stream until each has a verdict or is postponed. The argument attempts limits
// the attempts for the same readings, and 0 means no limit. With a limit, no readings are postponed.
func (s *Sender) sendLines(ctx context.Context, stream string, all *lines, attempts int) error {
	part := all.len() // number of readings in one body
	failures, unavailable, tried := 0, 0, 0
	for all.len() > 0 {
		part = min(part, all.len())
		left, err := s.attempt(ctx, stream, all, part)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		switch {
		case err == nil && len(left.rows) == 0:
			failures, unavailable, tried = 0, 0, 0
			all.remove(part)
			continue
		case err == nil:
			err = varve.Errorf(varve.Unavailable, "%s", left.reason)
			all.replace(part, left)
			part = len(left.rows)
			tried++
		case varve.FailureOf(err) == varve.Invalid && part > 1:
			part = (part + 1) / 2
		default:
			tried++
		}
		failures++
		if isUnavailable(err) {
			unavailable++
		}
		if attempts == 0 && unavailable >= postponeAfter && s.postpone(ctx, stream, all, part) {
			unavailable = 0
			all.remove(part)
			continue
		}
		if attempts > 0 && tried == attempts {
			return err
		}
		if err := s.backOff(ctx, failures, err); err != nil {
			return err
		}
	}
	return nil
}

// isUnavailable reports whether the server answered that it cannot store readings at present.
func isUnavailable(err error) bool {
	var e *varve.Error
	return errors.As(err, &e) && e.Failure == varve.Unavailable
}

// retryable has the readings of a body that the server may store later, and the reason of the last
// one.
type retryable struct {
	rows   [][]byte
	reason string
}

// postpone appends the first n readings to the end of the outbox, and returns whether they are durable
// there.
func (s *Sender) postpone(ctx context.Context, stream string, all *lines, n int) bool {
	stats := s.opts.Outbox.Stats()
	if !s.opts.Postpone || stats.Bytes-stats.KeptBytes > s.opts.Outbox.MaxBytes()/2 {
		return false
	}
	err := s.opts.Outbox.Append(ctx, []outbox.Record{{Stream: stream, Readings: n, Lines: all.text(n)}})
	if err == nil {
		s.opts.Events.Postponed(stream, n)
	}
	return err == nil // after an error, the readings stay in all, and the next attempt sends them
}

// attempt sends the first n readings. It returns the readings that the server may store later.
func (s *Sender) attempt(ctx context.Context, stream string, all *lines, n int) (left retryable, err error) {
	body, err := s.body.pack(all.text(n))
	if err != nil {
		return left, err
	}
	if err := s.await(ctx, len(body), n); err != nil {
		return left, err
	}
	answer, err := s.opts.Client.Write(ctx, stream, client.Body{Data: body, Encoding: "gzip", Format: wire.NDJSON})
	if err != nil {
		return left, err
	}
	t := varve.Tally{Stored: answer.Stored, Duplicates: answer.Duplicates, Rejected: answer.Rejected, Queued: answer.Queued}
	if t.Total() != int64(n) || int64(len(answer.Rejects)) != t.Rejected {
		return left, varve.Errorf(varve.Unavailable, "the answer has verdicts on %d readings of %d: check that server.url is a Varve server", t.Total(), n)
	}
	for i := range answer.Rejects {
		r := &answer.Rejects[i]
		switch {
		case r.Index < 0 || r.Index >= int64(n):
			return left, varve.Errorf(varve.Unavailable, "the answer rejects reading %d of %d: check that server.url is a Varve server", r.Index, n)
		case varve.Code(r.Code).Retryable():
			left.rows, left.reason = append(left.rows, all.row(int(r.Index))), r.Message
			t.Rejected--
		default:
			s.opts.Events.Rejected(stream, r)
		}
	}
	s.total.Add(t)
	s.opts.Events.Sent(t, len(body))
	return left, nil
}

// await waits until the rates allow a body.
func (s *Sender) await(ctx context.Context, bytes, readings int) error {
	for _, l := range []struct {
		limit *rate.Limiter
		n     int
	}{{s.bytes, bytes}, {s.readings, readings}} {
		for l.limit != nil && l.n > 0 {
			part := min(l.n, l.limit.Burst())
			if err := l.limit.WaitN(ctx, part); err != nil {
				return err
			}
			l.n -= part
		}
	}
	return nil
}
