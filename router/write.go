package router

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/retention"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/timefmt"
)

// createTries is the maximum number of retries of a write whose table stays missing.
const createTries = 3

// Write normalizes readings in place, stores them, and sets a verdict for each.
//
// It skips readings that already have a verdict. Both slices must have the same length.
//
// Write returns an error only if the context ended. Then readings without a verdict may or may
// not be stored, and it is safe to retry them.
func (q *Request) Write(ctx context.Context, readings []varve.Reading, verdicts []varve.Verdict) error {
	if at := q.r.arrivals.begin(q.arrived); !at.Equal(q.arrived) {
		q.arrived, q.month = at, grid.MonthOf(at)
	}
	q.unknown = false
	defer func() {
		if q.unknown {
			q.r.arrivals.linger(q.arrived, q.r.opts.Linger)
		}
		q.r.arrivals.end(q.arrived)
	}()
	// The deferred function ends the arrival only after Watch, which registers devices. Otherwise a
	// reading could be settled before its device is registered.
	err := q.write(ctx, readings, verdicts)
	if err != nil || q.r.opts.Watch == nil {
		return err
	}
	// Pass the current time instead of the arrival: a request may last long, and Watch needs a time after
	// the write.
	return q.r.opts.Watch(ctx, q.r.opts.Now(), readings, verdicts)
}

func (q *Request) write(ctx context.Context, readings []varve.Reading, verdicts []varve.Verdict) error {
	for i := range readings {
		if verdicts[i].Outcome == 0 {
			verdicts[i] = q.judge(&readings[i])
		}
	}
	if err := q.registerStreams(ctx, readings, verdicts); err != nil {
		return err
	}
	if fields := q.r.opts.Fields; fields != nil {
		if err := fields.Admit(ctx, readings, verdicts); err != nil {
			return err
		}
	}
	batches := q.tables.placeReadings(q, readings, verdicts)
	if len(batches) == 0 {
		return nil
	}
	release, err := q.r.acquire(ctx, weigh(readings))
	if err != nil {
		return err
	}
	defer release()
	within, cancel, err := q.markReadings(ctx, readings, verdicts)
	defer cancel()
	if err != nil {
		if ctx.Err() == nil {
			q.r.opts.Events.Failed("mark readings", err)
		}
		for i := range batches {
			q.tables.reject(batches[i].Table, verdicts, fault(err))
		}
		return context.Cause(ctx)
	}
	for try := 0; ; try++ {
		results := q.r.opts.Writer.Write(within, batches)
		q.unknown = q.unknown || within.Err() != nil || unavailable(results) != nil
		missing := q.tables.applyResults(batches, results, verdicts, try < createTries)
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		if err := unavailable(results); err != nil {
			q.r.opts.Events.Failed("write readings", err)
		}
		if len(missing) == 0 {
			return nil
		}
		if batches = q.create(within, missing, verdicts); len(batches) == 0 {
			return context.Cause(ctx)
		}
	}
}

// markReadings records the arrival of the readings, and marks their hours as dirty. It returns a
// context that ends when the readings may no longer be written.
func (q *Request) markReadings(ctx context.Context, readings []varve.Reading, verdicts []varve.Verdict) (context.Context, context.CancelFunc, error) {
	var by time.Time
	if q.r.opts.Changes != nil {
		var err error
		if by, err = q.r.opts.Changes.MarkChanges(ctx, q.arrived, readings, verdicts); err != nil {
			return ctx, func() {}, err
		}
	}
	if q.r.opts.Tracker != nil {
		end, err := q.r.opts.Tracker.MarkDirty(ctx, q.arrived, readings, verdicts)
		if err != nil {
			return ctx, func() {}, err
		}
		if by.IsZero() || end.Before(by) {
			by = end
		}
	}
	if by.IsZero() {
		return ctx, func() {}, nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, by.Sub(q.r.opts.Now()), errTooLong)
	return ctx, cancel, nil
}

var errTooLong = errors.New("the store took too long: retry")

// Check rejects invalid readings, and readings too far in the future, as Write does. It normalizes readings
// in place, and stores nothing.
func (q *Request) Check(readings []varve.Reading, verdicts []varve.Verdict) {
	for i := range readings {
		if verdicts[i].Outcome == 0 {
			verdicts[i] = q.judge(&readings[i])
		}
	}
}

// judge sets the arrival of a reading, and normalizes the reading. It returns a rejecting verdict if the
// reading is invalid, or its event time is too far in the future.
func (q *Request) judge(r *varve.Reading) varve.Verdict {
	r.Arrived = q.arrived
	if v := r.NormalizeNew(); v.Outcome == varve.Rejected {
		return v
	}
	if ahead := r.Time.Sub(q.arrived); ahead > q.r.opts.Grid.Future {
		return varve.Reject(varve.CodeTimeInFuture, "time %s is %s ahead of the server's clock, and %s is allowed: correct the device's clock, or raise tables.future",
			r.Time.Format(time.RFC3339Nano), timefmt.FormatDuration(ahead.Round(time.Second)), timefmt.FormatDuration(q.r.opts.Grid.Future))
	}
	return varve.Verdict{}
}

type streamKey struct{ tenant, stream string }

// registerStreams registers the streams of the readings, each once. If it cannot register a stream, it
// rejects the readings of the stream with a retryable code, because queries could not find them.
func (q *Request) registerStreams(ctx context.Context, readings []varve.Reading, verdicts []varve.Verdict) error {
	q.streams = q.streams[:0]
	var last streamKey
	var failed error // the error of the last stream
	tried := map[streamKey]error{}
	for i := range readings {
		if verdicts[i].Outcome != 0 {
			continue
		}
		if k := (streamKey{readings[i].Tenant, readings[i].Stream}); k != last {
			err, ok := tried[k]
			if !ok {
				err = q.registerStream(ctx, k)
				if ctx.Err() != nil {
					return context.Cause(ctx)
				}
				tried[k] = err
			}
			last, failed = k, err
		}
		if failed != nil {
			verdicts[i] = rejectFor(fault(failed))
		}
	}
	return nil
}

func (q *Request) registerStream(ctx context.Context, k streamKey) error {
	st, err := q.r.opts.Streams.Register(ctx, k.tenant, k.stream, q.r.opts.Policy.ClassOf(k.stream).Name, q.r.opts.Layouts[k.stream].RowWindow)
	if err == nil {
		q.streams = append(q.streams, st)
	} else if ctx.Err() == nil {
		q.r.opts.Events.Failed("register stream", err)
	}
	return err
}

// layout returns the configured layout of a series, with the shards of its device. With
// Options.Expire, it also sets DeleteAfter, unless the retention is unlimited.
func (q *Request) layout(s varve.Series) store.Layout {
	l := q.r.opts.Layouts[s.Stream]
	for i := range q.streams {
		if st := &q.streams[i]; st.Tenant == s.Tenant && st.Name == s.Stream {
			l.Shards = st.Shards[s.Device]
		}
	}
	if policy := q.r.opts.Policy; q.r.opts.Expire {
		if streamRetention := policy.RetentionOf(s.Stream, policy.ClassOf(s.Stream).Name); streamRetention != retention.Forever {
			l.DeleteAfter = streamRetention + ExpireGraceOf(q.r.opts.Grace, q.r.opts.Tracker != nil)
		}
	}
	return l
}

// ExpireGrace is the shortest time between the expiry of a reading and its deletion by DynamoDB, if roll-ups
// are on. It gives roll-ups time to count the reading. The embedded store needs no such time, because
// rotations know which readings are still to be counted.
const ExpireGrace = 7 * 24 * time.Hour

// ExpireGraceOf returns the time between the expiry of a reading and its deletion by DynamoDB, given
// the grace of tables.
func ExpireGraceOf(grace time.Duration, rollups bool) time.Duration {
	if rollups {
		return max(grace, ExpireGrace)
	}
	return grace
}

// create adds the missing tables of batches to the store, and returns the batches that can be
// written now. If a table cannot be created, its readings are rejected with a retryable code,
// whatever the cause.
func (q *Request) create(ctx context.Context, missing []store.Batch, verdicts []varve.Verdict) []store.Batch {
	ready := missing[:0]
	for _, b := range missing {
		if err := q.r.ensure(ctx, b.Table); err != nil {
			if ctx.Err() == nil {
				q.r.opts.Events.Failed("create table", err)
			}
			q.tables.reject(b.Table, verdicts, varve.Errorf(varve.Unavailable, "%s", err))
			continue
		}
		ready = append(ready, b)
	}
	return ready
}

// ensure creates a table. Concurrent callers share one creation.
func (r *Router) ensure(ctx context.Context, t grid.Table) error {
	done := r.creating.DoChan(t.Name(), func() (any, error) {
		// Do not cancel the creation when the context of the first caller ends, because other callers wait
		// for it.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), createTimeout)
		defer cancel()
		begin := time.Now()
		if err := r.opts.Creator.Create(ctx, t, store.Warm); err != nil {
			return nil, fmt.Errorf("create table %s: %w", t, err)
		}
		r.opts.Events.TableCreated(t, time.Since(begin))
		return nil, nil
	})
	select {
	case res := <-done:
		return res.Err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

const createTimeout = 2 * time.Minute

// fault converts an error of an internal request, so that it does not look like an error of the
// reading. An Invalid error becomes Unavailable.
func fault(err error) error {
	if varve.FailureOf(err) != varve.Invalid {
		return err
	}
	return &varve.Error{Failure: varve.Unavailable, Err: err, Message: "the reading could not be stored for now"}
}

// unavailable returns the first reason why readings were rejected with CodeUnavailable, or nil.
func unavailable(results []store.Result) error {
	for i := range results {
		if err := results[i].Err; err != nil && !errors.Is(err, store.ErrNoTable) && rejectFor(err).Code == varve.CodeUnavailable {
			return err
		}
		for _, v := range results[i].Verdicts {
			if v.Code == varve.CodeUnavailable {
				return errors.New(v.Message)
			}
		}
	}
	return nil
}

// rejectFor returns the verdict for the readings of a failed write.
func rejectFor(err error) varve.Verdict {
	if varve.FailureOf(err) == varve.Invalid {
		return varve.Reject(varve.CodeMalformed, "%s", err)
	}
	if errors.Is(err, store.ErrDamaged) {
		return varve.Reject(varve.CodeDamaged, "%s", err)
	}
	return varve.Reject(varve.CodeUnavailable, "%s", err)
}
