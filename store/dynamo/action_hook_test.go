package dynamo_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/varvedb/varve/tests/dynamosim"
)

// standIn runs the stand-in for DynamoDB in this process, and returns its address.
func standIn(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(dynamosim.New(dynamosim.Options{}))
	t.Cleanup(server.Close)
	return server.URL
}

// actionHook is a transport that calls functions before and after the first request of one action. A
// function that is nil is not called.
type actionHook struct {
	action        string
	before, after func()
	sent          atomic.Int64 // number of requests of the action so far
}

func (h *actionHook) RoundTrip(r *http.Request) (*http.Response, error) {
	isFirst := strings.HasSuffix(r.Header.Get("X-Amz-Target"), "."+h.action) && h.sent.Add(1) == 1
	if isFirst && h.before != nil {
		h.before()
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	if isFirst && h.after != nil {
		h.after()
	}
	return resp, err
}
