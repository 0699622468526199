package api

import (
	"context"
	"net/http"
	"runtime"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/varvedb/varve"
)

// reads limits the reads in flight, and the reads among them that use the store. Most
// reads in flight wait for their clients.
type reads struct {
	underWay *semaphore.Weighted
	atWork   *semaphore.Weighted
}

func newReads(l Limits) *reads {
	return &reads{underWay: semaphore.NewWeighted(int64(l.Reads)), atWork: semaphore.NewWeighted(int64(l.ReadsAtWork))}
}

// defaultReadsAtWork returns a number that keeps the processors busy, but leaves
// no queue at them for others to wait in.
func defaultReadsAtWork() int { return runtime.GOMAXPROCS(0) }

// readRetry is the time after which a refused read should be retried.
const readRetry = time.Second

// limit wraps the handler of a route with the limit of reads under way.
func (r *reads) limit(a *responder, handle http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		if !r.underWay.TryAcquire(1) {
			a.fail(w, req, &varve.Error{Failure: varve.Busy, RetryAfter: readRetry,
				Message: "too many reads are under way: send it again after a second"})
			return
		}
		defer r.underWay.Release(1)
		handle(w, req)
	}
}

// inTurn does the part of a read that takes memory and processor time, when its turn
// comes. Waiting for a client happens outside it.
func (r *reads) inTurn(ctx context.Context, do func() error) error {
	if err := r.atWork.Acquire(ctx, 1); err != nil {
		return context.Cause(ctx)
	}
	defer r.atWork.Release(1)
	return do()
}
