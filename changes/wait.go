package changes

import (
	"context"
	"time"

	"github.com/varvedb/varve"
)

// restEvery is the pause after each check for changes. Then the caller waits for the end of a write, at
// most for pollEvery, before the next check.
const (
	pollEvery = 500 * time.Millisecond
	restEvery = 20 * time.Millisecond
)

// Wait waits until settled readings may have arrived since a cursor, or until ctx ends. It uses the
// memory of this process, and reads no markers. If other processes write to the store, it waits for
// RenewEvery instead, so that they have renewed their records.
func (r *Reader) Wait(ctx context.Context, q Query, since Cursor) {
	if !r.o.Alone {
		sleep(ctx, RenewEvery, nil)
		return
	}
	for ctx.Err() == nil {
		ended := r.o.Ended()
		if r.mayHave(ctx, q, since) {
			return
		}
		// A write may end in the millisecond of its arrival. This arrival is settled only after that
		// millisecond, so Wait always sleeps before the next check.
		if !sleep(ctx, restEvery, nil) || !sleep(ctx, pollEvery, ended) {
			return
		}
	}
}

// AwaitSettled waits until all readings that this process has stored are settled. After a restart, arrivals can be
// ahead of the clock for some seconds, and AwaitSettled waits until the clock has passed them. If ctx ends first, it
// returns an error that names the parameter "settle".
func (r *Reader) AwaitSettled(ctx context.Context) error {
	last := r.o.LastArrival()
	every := pollEvery
	if r.o.Alone {
		every = restEvery
	}
	for {
		ended := r.o.Ended()
		end, _, err := r.o.Settled.Settled(ctx)
		if err != nil && ctx.Err() == nil {
			return err
		}
		if err == nil && end.After(last) {
			return nil
		}
		if !sleep(ctx, restEvery, nil) || !sleep(ctx, every, ended) {
			return &varve.Error{Failure: varve.Conflict, Param: "settle", Message: "some arrivals are not settled yet: retry later, or omit settle"}
		}
	}
}

// mayHave reports whether a stream may have settled changes since a cursor.
func (r *Reader) mayHave(ctx context.Context, q Query, since Cursor) bool {
	end, _, err := r.o.Settled.Settled(ctx)
	if err != nil {
		return true // the next read returns the error
	}
	last, from, to := r.o.Tracker.lastOfStream(q.Stream), since.Since.UnixMilli(), end.UnixMilli()
	// While the last write is running, earlier writes may be settled. They are read only if end is at
	// least busyMillis after the cursor.
	return last >= from && (last < to || to-from >= busyMillis)
}

// busyMillis is the shortest range of arrivals that is read while a write to the stream is running.
const busyMillis = 100

// sleep waits for a time, or until the channel is closed. It returns false if ctx ended.
func sleep(ctx context.Context, d time.Duration, wake <-chan struct{}) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
	case <-wake:
	}
	return true
}
