package api

import (
	"context"
	"net/http"
	"runtime"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/internal/turns"
)

// reads limits the number of concurrent reads, and the number of reads that use the store at a time.
// The two numbers differ because most reads only wait for their clients.
type reads struct {
	underWay *semaphore.Weighted // admits at most Limits.Reads reads
	inStore  *semaphore.Weighted // admits at most Limits.ReadsAtWork reads at a time
}

func newReads(l Limits) *reads {
	return &reads{underWay: semaphore.NewWeighted(int64(l.Reads)), inStore: semaphore.NewWeighted(int64(l.ReadsAtWork))}
}

// defaultReadsAtWork returns GOMAXPROCS. More reads at a time would only wait for a processor, and
// delay other requests.
func defaultReadsAtWork() int { return runtime.GOMAXPROCS(0) }

// readRetry is the time after which a refused read should be retried.
const readRetry = time.Second

// limit wraps the handler of a route with the limit of reads under way.
func (r *reads) limit(a *responder, handle http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		if err := r.begin(); err != nil {
			a.fail(w, req, err)
			return
		}
		defer r.end()
		handle(w, req)
	}
}

// begin admits a read, or fails if too many are under way.
func (r *reads) begin() error {
	if !r.underWay.TryAcquire(1) {
		return &varve.Error{Failure: varve.Busy, RetryAfter: readRetry, Message: "too many reads are under way: send it again after a second"}
	}
	return nil
}

// end releases the place of a read. Each successful call of begin needs one call of end.
func (r *reads) end() { r.underWay.Release(1) }

// inTurn runs the part of a read that uses the store, as soon as the limit permits. The function
// "do" must not wait for the client.
func (r *reads) inTurn(ctx context.Context, do func() error) error {
	return r.inPausableTurn(ctx, func(context.Context) error { return do() })
}

// inPausableTurn is like inTurn, for reads that may use archives. With the context that the function "do" gets, the
// limit does not count the read while it waits for an archive.
func (r *reads) inPausableTurn(ctx context.Context, do func(context.Context) error) error {
	return turns.TakeTurn(ctx, r.inStore, do)
}
