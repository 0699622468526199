package dynamo_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/dynamo"
	"github.com/varvedb/varve/tests/dynamosim"
	"github.com/varvedb/varve/tests/dynamotest"
)

func hooked(url string, link http.RoundTripper) *dynamodb.Client {
	return dynamodb.New(dynamotest.Client(url).Options(), func(o *dynamodb.Options) { o.HTTPClient = &http.Client{Transport: link} })
}

// TestOpen_AwaitsRegistryBeingCreated interrupts the creation of the registry. The next Open must wait until
// the registry is active, and must turn its time to live on.
func TestOpen_AwaitsRegistryBeingCreated(t *testing.T) {
	t.Parallel()
	clock := newClock()
	url := standInWith(t, dynamosim.Options{Now: clock.now, TableDelay: time.Minute})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, err := dynamo.Open(ctx, dynamo.Options{Client: hooked(url, &actionHook{action: "CreateTable", after: cancel}), Registry: "t_reg"})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("first open: %v, want it canceled", err)
	}
	described := &actionHook{action: "DescribeTable", after: func() { clock.advance(time.Minute) }}
	s := openWith(t, dynamo.Options{Client: hooked(url, described), Registry: "t_reg"})
	if n := described.sent.Load(); n < 2 {
		t.Errorf("%d descriptions of the registry, want it described until it is active", n)
	}
	if _, err := s.Get(t.Context(), []store.Key{{PK: "a", SK: "b"}}, true); err != nil {
		t.Error(err)
	}
	if got := ttlStatusOf(t, url, "t_reg"); got != types.TimeToLiveStatusEnabled {
		t.Errorf("time to live of the registry: %s, want %s", got, types.TimeToLiveStatusEnabled)
	}
}

// TestOpen_AcceptsLostAnswerToTTL loses the answer to the change of the registry's time to live. DynamoDB
// refuses the resent request, because the time to live is on. Open must succeed.
func TestOpen_AcceptsLostAnswerToTTL(t *testing.T) {
	t.Parallel()
	url := standIn(t)
	link := &lostAnswer{action: "UpdateTimeToLive", code: "ValidationException"}
	openWith(t, dynamo.Options{Client: hooked(url, link), Registry: "t_reg"})
	if n := link.sent.Load(); n != 2 {
		t.Errorf("%d changes of the time to live were sent, want 2", n)
	}
}
