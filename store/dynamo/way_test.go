package dynamo_test

import (
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/varvedb/varve/store/dynamo"
	"github.com/varvedb/varve/tests/dynamotest"
)

// way is a way to an endpoint on which a test can do something before an update,
// or cut the connection.
type way struct {
	updates atomic.Int64 // so far
	before  func(n int64)
	cut     func(n int64) cut
}

// cut is when the connection of an update is cut.
type cut int

const (
	never  cut = iota
	early      // before it arrives
	behind     // after it was carried out
)

func (w *way) RoundTrip(r *http.Request) (*http.Response, error) {
	if !strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".UpdateItem") {
		return http.DefaultTransport.RoundTrip(r)
	}
	n := w.updates.Add(1)
	if w.before != nil {
		w.before(n)
	}
	when := never
	if w.cut != nil {
		when = w.cut(n)
	}
	if when == early {
		return nil, errCut
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	if when == behind && err == nil {
		return nil, errors.Join(errCut, resp.Body.Close())
	}
	return resp, err
}

// openOver opens a store with a registry over a way, which retries nothing, so
// that each request is what the store sends.
func openOver(t *testing.T, url, registry string, w *way) *dynamo.Store {
	t.Helper()
	client := dynamodb.New(dynamotest.Client(url).Options(), func(o *dynamodb.Options) {
		o.HTTPClient = &http.Client{Transport: w}
		o.Retryer = aws.NopRetryer{}
	})
	s, err := dynamo.Open(t.Context(), dynamo.Options{Client: client, Registry: registry, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}
