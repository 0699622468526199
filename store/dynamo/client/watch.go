package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/varvedb/varve/health"
)

const (
	// unreachableAfter is how long requests must fail before DynamoDB is reported as unreachable.
	unreachableAfter = 5 * time.Second
	// probeIdle is the time without any request after which a probe is sent. A probe costs half a
	// read unit. While requests fail, a probe is sent every probeFailing.
	probeIdle    = 10 * time.Second
	probeFailing = time.Second
	probeWithin  = 3 * time.Second
)

// watcher observes whether DynamoDB answers the requests of the store.
type watcher struct {
	http       dynamodb.HTTPClient
	conditions *health.Conditions

	mu      sync.Mutex
	last    time.Time // end of the last request, whether it was answered or not
	failing time.Time // time since which requests fail; zero if the last request was answered
}

func (w *watcher) watched(c *dynamodb.Client) *dynamodb.Client {
	return dynamodb.New(c.Options(), func(o *dynamodb.Options) {
		w.http, o.HTTPClient = o.HTTPClient, w
	})
}

// Do sends a request. Every status below 500 counts as an answer, even if DynamoDB refuses the
// request.
func (w *watcher) Do(req *http.Request) (*http.Response, error) {
	if err := bufferBody(req); err != nil {
		return nil, err
	}
	resp, err := w.http.Do(req)
	switch {
	case err == nil && resp.StatusCode < http.StatusInternalServerError:
		w.answered()
	case err == nil:
		w.failed(fmt.Errorf("status %s", resp.Status))
	case !errors.Is(req.Context().Err(), context.Canceled):
		w.failed(err)
	}
	return resp, err
}

func (w *watcher) answered() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last = time.Now()
	if !w.failing.IsZero() {
		w.failing = time.Time{}
		w.conditions.Clear(health.StoreUnreachable)
	}
}

func (w *watcher) failed(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last = time.Now()
	if w.failing.IsZero() {
		w.failing = w.last
	}
	if w.last.Sub(w.failing) >= unreachableAfter {
		w.conditions.Set(health.StoreUnreachable, fmt.Sprintf(
			"DynamoDB has not answered since %s: check the endpoint, the region and the network (%s)", w.failing.UTC().Format(time.RFC3339), err))
	}
}

func (w *watcher) isDue() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	idle := time.Since(w.last)
	return idle >= probeIdle || !w.failing.IsZero() && idle >= probeFailing
}

// Probe sends a small read from time to time, until ctx ends. It sends the read only if no other
// request shows that DynamoDB answers.
func (c *Client) Probe(ctx context.Context, read *dynamodb.BatchGetItemInput) {
	tick := time.NewTicker(probeFailing)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if c.watch.isDue() {
			c.probeOnce(ctx, read)
		}
	}
}

// probeOnce sends a read. The watcher records its result.
func (c *Client) probeOnce(ctx context.Context, read *dynamodb.BatchGetItemInput) {
	ctx, cancel := context.WithTimeout(ctx, probeWithin)
	defer cancel()
	_, _ = c.BatchGetItem(ctx, read, func(o *dynamodb.Options) { o.Retryer = aws.NopRetryer{} })
}
