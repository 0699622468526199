package dynamo

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/varvedb/varve/health"
)

const (
	// unreachableAfter is how long requests fail, with no answer between, until
	// DynamoDB counts as unreachable.
	unreachableAfter = 5 * time.Second
	// probeIdle is how long nothing is asked before a probe is sent: half a read
	// unit. While requests fail, one is sent every probeFailing.
	probeIdle    = 10 * time.Second
	probeFailing = time.Second
	// probeWithin is how long a probe may take.
	probeWithin = 3 * time.Second
)

// reach watches whether DynamoDB answers, by the requests that are sent anyway.
type reach struct {
	client     dynamodb.HTTPClient
	conditions *health.Conditions

	mu      sync.Mutex
	last    time.Time // when a request ended, whatever became of it
	failing time.Time // since when none is answered; zero: the last one was
}

// watched returns a client whose requests are watched.
func (r *reach) watched(c *dynamodb.Client) *dynamodb.Client {
	return dynamodb.New(c.Options(), func(o *dynamodb.Options) {
		r.client, o.HTTPClient = o.HTTPClient, r
	})
}

// Do sends a request. An answer that blames the request is an answer.
func (r *reach) Do(req *http.Request) (*http.Response, error) {
	resp, err := r.client.Do(req)
	switch {
	case err == nil && resp.StatusCode < http.StatusInternalServerError:
		r.answered()
	case err == nil:
		r.failed(fmt.Errorf("status %s", resp.Status))
	case !errors.Is(req.Context().Err(), context.Canceled):
		r.failed(err)
	}
	return resp, err
}

func (r *reach) answered() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last = time.Now()
	if !r.failing.IsZero() {
		r.failing = time.Time{}
		r.conditions.Clear(health.StoreUnreachable)
	}
}

func (r *reach) failed(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last = time.Now()
	if r.failing.IsZero() {
		r.failing = r.last
	}
	if r.last.Sub(r.failing) >= unreachableAfter {
		r.conditions.Set(health.StoreUnreachable, fmt.Sprintf(
			"DynamoDB has not answered since %s: check the endpoint, the region and the network (%s)", r.failing.UTC().Format(time.RFC3339), err))
	}
}

// due reports whether it is time for a probe.
func (r *reach) due() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	idle := time.Since(r.last)
	return idle >= probeIdle || !r.failing.IsZero() && idle >= probeFailing
}

// probe sends a small request whenever nothing else tells whether DynamoDB answers,
// until ctx ends.
func (s *Store) probe(ctx context.Context) {
	tick := time.NewTicker(probeFailing)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if s.reach.due() {
			s.probeOnce(ctx)
		}
	}
}

// probeOnce reads an item of the registry. What comes of it, reach has seen.
func (s *Store) probeOnce(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, probeWithin)
	defer cancel()
	ask := types.KeysAndAttributes{Keys: []map[string]types.AttributeValue{itemKey(TemplateKey())}}
	in := &dynamodb.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{s.opts.Registry: ask}}
	_, _ = s.client.BatchGetItem(ctx, in, func(o *dynamodb.Options) { o.Retryer = aws.NopRetryer{} })
}
