// Package uplink sends the readings in an outbox to a server.
//
//	outbox.Next ──▶ one body per stream ──▶ rate ──▶ POST readings ──▶ verdicts ──▶ ConfirmExcept
//	                        ▲                             │                              │
//	                        ├───── back-off, halves ──────┘                              │
//	                        └──────────────────── outbox.Postponed ◀─────────────────────┘
//	outbox.Kept ──▶ digests of hours ──▶ POST digests ──▶ hours that differ ──▶ POST readings
//
// [Sender] is the main type, and [Events] reports its work. Between uploads, it compares the
// confirmed readings that the outbox keeps with the server, and resends the hours that differ. So a
// server gets the readings that it has lost, for example because it was restored from a backup.
//
// These rules always hold:
//
//   - A reading is confirmed only by a verdict of the server: stored, duplicate, or rejected
//     permanently. A queued reading is on the disk of another agent, and is confirmed, too.
//   - An answer that does not count each reading of its body confirms nothing. So the answer of
//     another server, such as a captive portal, loses no reading.
//   - A reading that the server does not store at present is resent. It is postponed after five
//     attempts, or after attempts of a minute in all, so that it does not delay other readings. If
//     readings of other streams are postponed already, two attempts are enough. If readings of its own
//     stream are, one attempt is enough, or none. A failed attempt postpones readings only if the server
//     answered it with some verdicts, or is ready: see /readyz.
//   - Postponed readings are not confirmed, and are not compared. They are resent after at least
//     Options.Retry, and other streams are sent meanwhile.
//   - A body that is refused as invalid is resent in halves, because the answer may come from a
//     proxy that limits the size of bodies.
//   - Unconfirmed readings do not wait for a comparison: they are sent after each of its requests.
//   - Kept readings may be removed after a comparison in which all readings to be resent got a
//     verdict. If the server refuses comparisons for long, they are removed after twice
//     outbox.Options.Keep. After a failure, none are removed.
//
// No failure ends a Sender: it waits, longer after each failure, and retries. Run ends with its
// context or with the outbox, and must be called only once.
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
	// Every is the pause after a batch, unless further readings wait. 0 means one second.
	Every time.Duration
	// Retry is the shortest time between two attempts to send the same postponed readings. It doubles after
	// each failure, up to MaxWait. 0 means 10 seconds.
	Retry time.Duration
	// MaxWait limits the wait between two attempts. 0 means 5 minutes.
	MaxWait time.Duration
	// Held limits the number of kept readings that are compared at a time. Each takes 16 bytes, and an
	// hour of a series as much as 32 readings. An hour with more than half of the limit may be left out
	// of comparisons. 0 means 65,536.
	Held   int
	Events Events
}

// Events has callbacks. A nil callback is not called.
type Events struct {
	// Sent is called after each valid answer, with the number of verdicts and of compressed bytes
	// of the body.
	Sent func(t wire.Tally, bytes int)
	// Failed is called after each failed attempt, with the time until the next one.
	Failed func(err error, retry time.Duration)
	// Rejected is called for each reading that the server rejected permanently.
	Rejected func(stream string, r *wire.Reject)
	// Postponed is called after readings were postponed, with the reason. The reason is nil if earlier readings
	// of the stream wait already.
	Postponed func(stream string, readings int, reason error)
	// Reconciled is called after each comparison of kept readings.
	Reconciled func(r *Reconciliation)
}

func (e Events) withDefaults() Events {
	if e.Sent == nil {
		e.Sent = func(wire.Tally, int) {}
	}
	if e.Failed == nil {
		e.Failed = func(error, time.Duration) {}
	}
	if e.Rejected == nil {
		e.Rejected = func(string, *wire.Reject) {}
	}
	if e.Postponed == nil {
		e.Postponed = func(string, int, error) {}
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
	defaultRetry    = 10 * time.Second
	defaultMaxWait  = 5 * time.Minute
	defaultHeld     = 1 << 16
	// never is a time that is too long to wait.
	never = 365 * 24 * time.Hour
	// firstWait is the wait after the first failed attempt.
	firstWait = 500 * time.Millisecond
)

// Sender sends readings. Run must be called only once.
type Sender struct {
	opts     Options
	bytes    *rate.Limiter // limits the bytes sent per second; nil means no limit
	readings *rate.Limiter // limits the readings sent per second; nil means no limit
	body     packer
	total    wire.Tally // verdicts on all readings
	paused   time.Time  // end of the pause after a batch without further readings
	// postponed has the streams with postponed readings.
	postponed  map[string]*postponedStream
	retryAfter time.Time // earliest time of the next body of a stuck stream, or of postponed readings
	compare    struct {  // state of the comparisons of kept readings
		failures int       // number of comparisons that failed since the last success
		next     time.Time // earliest time of the next comparison
		refused  time.Time // time of the first of consecutive refusals, or zero
	}
}

// New returns a sender. If a limit or a time in the options is 0, the default applies.
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
	if o.Retry == 0 {
		o.Retry = defaultRetry
	}
	if o.MaxWait == 0 {
		o.MaxWait = defaultMaxWait
	}
	if o.Held == 0 {
		o.Held = defaultHeld
	}
	o.Events = o.Events.withDefaults()
	return &Sender{opts: o, postponed: map[string]*postponedStream{}, bytes: limiter(o.BytesPerSecond), readings: limiter(o.ReadingsPerSecond)}
}

func limiter(perSecond int) *rate.Limiter {
	if perSecond == 0 {
		return nil
	}
	return rate.NewLimiter(rate.Limit(perSecond), perSecond)
}

// Run sends readings until the context ends or the outbox is closed.
func (s *Sender) Run(ctx context.Context) {
	s.loadPostponed()
	for failures := 0; ; {
		err := s.sendNext(ctx)
		if ctx.Err() != nil || errors.Is(err, outbox.ErrClosed) {
			return
		}
		if err == nil {
			failures = 0
			continue
		}
		failures++
		if s.backOff(ctx, failures, err) != nil {
			return
		}
	}
}

// sendNext sends a batch and a body of postponed readings, as far as they exist and are due. Without a batch,
// it compares kept readings, if that is due.
func (s *Sender) sendNext(ctx context.Context) error {
	batch, err := s.nextBatch(ctx)
	switch {
	case err != nil:
	case batch != nil:
		err = s.sendBatch(ctx, batch)
	case s.untilRetry() > 0 || s.untilComparison() <= 0:
		err = s.reconcile(ctx)
	}
	if err == nil && s.untilRetry() <= 0 {
		err = s.retryPostponed(ctx)
	} else if errors.Is(err, errFull) {
		err = s.retryAll(ctx, err)
	}
	if err != nil {
		return err
	}
	return s.opts.Outbox.Postponed().Move(ctx)
}

// nextBatch waits for unconfirmed records. It returns nil if postponed readings or a comparison may be due. A
// backlog waits neither for postponed readings nor for the comparison: see giveWay.
func (s *Sender) nextBatch(ctx context.Context) (*outbox.Batch, error) {
	wait, retry := s.untilComparison(), s.untilRetry()
	left := time.Until(s.paused)
	switch {
	case wait <= 0 || retry <= 0 && left > 0:
		return nil, nil
	case retry <= 0:
		return s.opts.Outbox.TryNext(s.opts.Bytes, s.opts.Readings)
	case left > 0:
		if err := pause(ctx, min(left, wait, retry)); err != nil || retry < left || wait < left {
			return nil, err
		}
	}
	waiting, stop := context.WithTimeout(ctx, min(wait, retry))
	defer stop()
	batch, err := s.opts.Outbox.Next(waiting, s.opts.Bytes, s.opts.Readings)
	if err != nil && waiting.Err() != nil && ctx.Err() == nil {
		return nil, nil
	}
	return batch, err
}

// pause waits for d. It fails if the context ends.
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
// that agents do not resend at the same time after an outage. If the error has a longer RetryAfter, the
// wait is RetryAfter. The wait never exceeds MaxWait.
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
