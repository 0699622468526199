package dynamo_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/engine"
	"github.com/varvedb/varve/query"
	"github.com/varvedb/varve/rollup"
	"github.com/varvedb/varve/store/dynamo"
	"github.com/varvedb/varve/tests/dynamotest"
)

// flaky is a transport. While the field "on" is true, it makes about every fifth request fail in one of
// seven ways.
type flaky struct {
	on     atomic.Bool
	faults atomic.Int64
	all    atomic.Int64
	mu     sync.Mutex
	rng    *rand.Rand
}

const flakyKinds = 7

// draw returns the kind of fault for the next request. From flakyKinds on, the numbers mean no
// fault.
func (f *flaky) draw() int {
	if !f.on.Load() {
		return flakyKinds
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.rng.IntN(5 * flakyKinds)
}

func (f *flaky) RoundTrip(r *http.Request) (*http.Response, error) {
	fault := f.draw()
	f.all.Add(1)
	if fault < flakyKinds {
		f.faults.Add(1)
	}
	switch fault {
	case 0:
		return nil, errCut
	case 1:
		return refusal(r, http.StatusInternalServerError, "InternalServerError"), nil
	case 2:
		return refusal(r, http.StatusServiceUnavailable, "ServiceUnavailable"), nil
	case 3:
		return refusal(r, http.StatusBadRequest, "ProvisionedThroughputExceededException"), nil
	case 4:
		return cutShort(refusal(r, http.StatusBadRequest, "ProvisionedThroughputExceededException"), nil)
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	switch {
	case err != nil:
		return nil, err
	case fault == 5:
		return nil, errors.Join(errCut, resp.Body.Close())
	case fault == 6:
		return cutShort(resp, nil)
	}
	return resp, nil
}

// cutShort removes the second half of an answer's body.
func cutShort(resp *http.Response, err error) (*http.Response, error) {
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(resp.Body)
	if err := errors.Join(err, resp.Body.Close()); err != nil {
		return nil, err
	}
	half := bytes.NewReader(body[:len(body)/2])
	resp.Body = io.NopCloser(io.MultiReader(half, failingReader{}))
	return resp, nil
}

type failingReader struct{}

func (failingReader) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// flakyClient returns a client with a flaky transport and the retryer that servers use.
func flakyClient(url string, f *flaky) *dynamodb.Client {
	return dynamodb.New(dynamotest.Client(url).Options(), func(o *dynamodb.Options) {
		o.HTTPClient = &http.Client{Transport: f}
		o.Retryer = dynamo.NewRetryer()
	})
}

// TestStore_WorksWhileFifthOfRequestsFails makes about every fifth request fail. All starts must
// succeed. Of the batches, the queries over two years and the reads of roll-ups, 99 % must succeed in
// time.
func TestStore_WorksWhileFifthOfRequestsFails(t *testing.T) {
	t.Parallel()
	url := dynamotest.Dynoxide.Start(t)
	link := &flaky{rng: rand.New(rand.NewPCG(3, 4))}
	clock := someTime.Add(time.Hour)
	start := func() *engine.Engine {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		s, err := dynamo.Open(ctx, dynamo.Options{Client: flakyClient(url, link), Registry: "t_registry"})
		if err != nil {
			t.Fatalf("start: %v", err)
		}
		e, err := engine.Open(ctx, engine.Options{Store: s, Now: func() time.Time { return clock }, Parallel: 16})
		if err != nil {
			t.Fatalf("start: %v", err)
		}
		return e
	}
	e := start()
	defer func() {
		link.on.Store(false)
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}()
	link.on.Store(true)
	rounds := 20
	if testing.Short() {
		rounds = 5
	}
	for range rounds {
		if s, err := dynamo.Open(t.Context(), dynamo.Options{Client: flakyClient(url, link), Registry: "t_registry"}); err != nil {
			t.Errorf("start: %v", err)
		} else if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	series := sensor(someTime, "v", varve.IntValue(0)).Series
	window := varve.Window{From: clock.AddDate(-2, 0, 0), To: clock}
	var wrote, read, rolled outcomes
	for i := range rounds {
		wrote.add(limited(t, func(ctx context.Context) error { return sendAcross(ctx, e, i, clock) }))
		read.add(limited(t, func(ctx context.Context) error {
			return readAcross(ctx, e, query.Query{Series: series, Window: window})
		}))
		rolled.add(limited(t, func(ctx context.Context) error {
			_, err := e.Rollups.Read(ctx, rollup.Query{Series: series, Period: rollup.Daily, Window: window})
			return err
		}))
	}
	t.Logf("%d of %d requests failed; batches %s, queries %s, roll-ups %s", link.faults.Load(), link.all.Load(), &wrote, &read, &rolled)
	for what, o := range map[string]*outcomes{"batches": &wrote, "queries": &read, "roll-ups": &rolled} {
		if 100*o.good < 99*(o.good+o.bad) {
			t.Errorf("%s: %s", what, o)
		}
	}
}

type outcomes struct {
	good, bad int
	last      error
	slowest   time.Duration
}

func (o *outcomes) add(took time.Duration, err error) {
	o.slowest = max(o.slowest, took)
	if err == nil {
		o.good++
		return
	}
	o.bad, o.last = o.bad+1, err
}

func (o *outcomes) String() string {
	return fmt.Sprintf("%d of %d, slowest %s, last error %v", o.good, o.good+o.bad, o.slowest.Round(time.Millisecond), o.last)
}

// limited calls the function "do" with a timeout of 30 seconds, and returns how long the call took.
func limited(t *testing.T, do func(context.Context) error) (time.Duration, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	begin := time.Now()
	err := do(ctx)
	return time.Since(begin), err
}

// sendAcross sends a batch of twenty readings whose event times are spread over two years.
func sendAcross(ctx context.Context, e *engine.Engine, round int, now time.Time) error {
	req, err := e.Router.Admit()
	if err != nil {
		return err
	}
	defer req.Done()
	readings := make([]varve.Reading, 20)
	for i := range readings {
		readings[i] = sensor(now.AddDate(0, 0, -35*i).Add(-time.Duration(round)*time.Second), "v", varve.IntValue(int64(round)))
	}
	verdicts := make([]varve.Verdict, len(readings))
	if err := req.Write(ctx, readings, verdicts); err != nil {
		return err
	}
	for _, v := range verdicts {
		if v.Outcome == varve.Rejected {
			return errors.New(v.String())
		}
	}
	return nil
}

func readAcross(ctx context.Context, e *engine.Engine, q query.Query) error {
	rows, err := e.Query.Open(ctx, q)
	if err != nil {
		return err
	}
	defer rows.Close()
	for {
		some, err := rows.Next(ctx)
		if err != nil || len(some) == 0 {
			return err
		}
	}
}
