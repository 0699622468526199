package api

import (
	"context"
	"net/url"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/retention"
	"github.com/varvedb/varve/timefmt"
)

// waitOf parses the parameter with the given name, which limits the duration of a wait.
func waitOf(asked url.Values, name string) (time.Duration, error) {
	text := asked.Get(name)
	if text == "" {
		return 0, nil
	}
	d, err := timefmt.ParseDuration(text)
	if err != nil || d < 0 || d > maxWait || d == retention.Forever {
		return 0, varve.InvalidParam("query."+name, "%q is not a time from 0s to %s, as in 30s", text, timefmt.FormatDuration(maxWait))
	}
	return d, nil
}

func errWaiting() error {
	return &varve.Error{Failure: varve.Busy, RetryAfter: readRetry, Message: "too many requests wait for changes: send it again after a second"}
}

// settleArrivals waits until the acknowledged readings are settled, if the request has the parameter
// "settle".
func (a *changesAnswer) settleArrivals(ctx context.Context) error {
	if a.settle == 0 {
		return nil
	}
	if !a.h.waiting.TryAcquire(1) {
		return errWaiting()
	}
	defer a.h.waiting.Release(1)
	deadline, cancel := context.WithTimeout(ctx, a.settle)
	defer cancel()
	defer context.AfterFunc(a.h.draining, cancel)()
	return a.h.reader.AwaitSettled(deadline)
}
