package dynamo_test

import (
	"bytes"
	"errors"
	"io"
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

// writeHook is a transport that can call a function before a row is written, or can cut the
// connection.
type writeHook struct {
	writes atomic.Int64 // number of writes of rows so far
	before func(n int64)
	cut    func(n int64) cutTime
}

// cutTime is the moment at which the connection of a write is cut.
type cutTime int

const (
	never cutTime = iota
	early         // the connection is cut before the request arrives
	late          // the connection is cut after the request was executed
)

func (w *writeHook) RoundTrip(r *http.Request) (*http.Response, error) {
	if yes, err := writesRow(r); !yes || err != nil {
		return http.DefaultTransport.RoundTrip(r)
	}
	n := w.writes.Add(1)
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
	if when == late && err == nil {
		return nil, errors.Join(errCut, resp.Body.Close())
	}
	return resp, err
}

func writesRow(r *http.Request) (bool, error) {
	target := r.Header.Get("X-Amz-Target")
	if strings.HasSuffix(target, ".UpdateItem") {
		return true, nil
	}
	if !strings.HasSuffix(target, ".PutItem") {
		return false, nil
	}
	body, err := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	return bytes.Contains(body, []byte(`"_ids"`)), err
}

// openOver opens a store whose requests pass through a write hook, without retries by the SDK.
func openOver(t *testing.T, url, registry string, w *writeHook) *dynamo.Store {
	t.Helper()
	client := dynamodb.New(dynamotest.Client(url).Options(), func(o *dynamodb.Options) {
		o.HTTPClient = &http.Client{Transport: w}
		o.Retryer = aws.NopRetryer{}
	})
	return openWith(t, dynamo.Options{Client: client, Registry: registry, Now: time.Now})
}
