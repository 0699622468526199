package dynamo_test

import (
	"errors"
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
	return standInWith(t, dynamosim.Options{})
}

func standInWith(t *testing.T, o dynamosim.Options) string {
	t.Helper()
	server := httptest.NewServer(dynamosim.New(o))
	t.Cleanup(server.Close)
	return server.URL
}

// actionHook is a transport that calls functions before and after the first request of one action.
// A function that is nil is not called. If code is not empty, the first request is not sent, but
// refused with that error code, and "after" is not called. If lost is true, the answer to the first
// request is lost.
type actionHook struct {
	action, code  string
	before, after func()
	lost          bool
	dead          atomic.Bool  // if true, all requests fail
	sent          atomic.Int64 // number of requests of the action so far
}

func (h *actionHook) RoundTrip(r *http.Request) (*http.Response, error) {
	if h.dead.Load() {
		return nil, errCut
	}
	isFirst := strings.HasSuffix(r.Header.Get("X-Amz-Target"), "."+h.action) && h.sent.Add(1) == 1
	if isFirst && h.before != nil {
		h.before()
	}
	if isFirst && h.code != "" {
		return refusal(r, http.StatusBadRequest, h.code), nil
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	if isFirst && h.after != nil {
		h.after()
	}
	if isFirst && h.lost && err == nil {
		return nil, errors.Join(errCut, resp.Body.Close())
	}
	return resp, err
}

// lostAnswer is a transport that loses the answer to the first request of one action. It refuses the
// second request with an error code, as DynamoDB does if the first one has made the change.
type lostAnswer struct {
	action, code string
	sent         atomic.Int64 // number of requests of the action so far
}

func (l *lostAnswer) RoundTrip(r *http.Request) (*http.Response, error) {
	n := int64(0)
	if strings.HasSuffix(r.Header.Get("X-Amz-Target"), "."+l.action) {
		n = l.sent.Add(1)
	}
	if n == 2 {
		return refusal(r, http.StatusBadRequest, l.code), nil
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	if n == 1 && err == nil {
		return nil, errors.Join(errCut, resp.Body.Close())
	}
	return resp, err
}
