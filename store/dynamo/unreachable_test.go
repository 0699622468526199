package dynamo_test

import (
	"github.com/varvedb/varve/health"
	"github.com/varvedb/varve/store/dynamo"
	"github.com/varvedb/varve/tests/dynamotest"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// TestConditions_ReportUnreachableDynamoDB makes DynamoDB stop answering, or answer only with
// faults. The condition must be set after some seconds, even without calls. The first good answer
// must clear it.
func TestConditions_ReportUnreachableDynamoDB(t *testing.T) {
	t.Parallel()
	target, err := url.Parse(dynamotest.Dynoxide.Start(t))
	if err != nil {
		t.Fatal(err)
	}
	const fine, faults, silence = 0, 1, 2
	var state atomic.Int32
	proxy := httputil.NewSingleHostReverseProxy(target)
	link := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch state.Load() {
		case faults:
			w.WriteHeader(http.StatusServiceUnavailable)
		case silence:
			panic(http.ErrAbortHandler)
		default:
			proxy.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(link.Close)
	conditions := health.New(health.Options{})
	s := openWith(t, dynamo.Options{Client: dynamotest.Client(link.URL), Registry: "t_registry", Conditions: conditions})
	for _, trouble := range []int32{silence, faults} {
		state.Store(trouble)
		eventually(t, "the condition does not report that DynamoDB is unreachable", func() bool {
			held := conditions.List()
			return len(held) == 1 && held[0].Name == health.StoreUnreachable && strings.Contains(held[0].Message, "has not answered since")
		})
		state.Store(fine)
		eventually(t, "the condition holds although DynamoDB answers", func() bool { return len(conditions.List()) == 0 })
	}
	if _, err := s.Get(t.Context(), nil, false); err != nil {
		t.Error(err)
	}
}

// eventually checks a condition repeatedly until it is true. After a minute, it fails the test.
func eventually(t *testing.T, otherwise string, is func() bool) {
	t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	late := time.NewTimer(60 * time.Second)
	defer late.Stop()
	for !is() {
		select {
		case <-tick.C:
		case <-late.C:
			t.Fatal(otherwise)
		}
	}
}
