package dynamo_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/dynamo"
	"github.com/varvedb/varve/tests/dynamotest"
)

// broken is a transport. While the field "on" is true, it refuses every request with the status and
// the code. If the code is empty, it does not answer.
type broken struct {
	on     atomic.Bool
	status int
	code   string
}

func (b *broken) RoundTrip(r *http.Request) (*http.Response, error) {
	switch {
	case !b.on.Load():
		return http.DefaultTransport.RoundTrip(r)
	case b.code == "":
		return nil, errCut
	default:
		return refusal(r, b.status, b.code), nil
	}
}

// noCredentials is a provider of credentials. While the field "on" is true, it fails, as on a machine
// without credentials.
type noCredentials struct {
	on     *atomic.Bool
	others aws.CredentialsProvider
}

func (n noCredentials) Retrieve(ctx context.Context) (aws.Credentials, error) {
	if n.on.Load() {
		return aws.Credentials{}, errors.New("no role found")
	}
	return n.others.Retrieve(ctx)
}

// TestWrite_NamesRemedyForEachFailure checks the verdict for each kind of failed request. It must
// have one line with a remedy, and must be retryable.
func TestWrite_NamesRemedyForEachFailure(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what, code string
		status     int
		want       []string
	}{
		{"throttled", "ProvisionedThroughputExceededException", 400, []string{"refuses PutItem on varve_", "for now (ProvisionedThroughputExceededException)"}},
		{"overloaded", "InternalServerError", 500, []string{"refuses PutItem on varve_"}},
		{"not allowed", "AccessDeniedException", 400, []string{"no right to dynamodb:PutItem on table varve_", "add it to their policy"}},
		{"expired", "ExpiredTokenException", 400, []string{"refused by DynamoDB (ExpiredTokenException)", "renew them"}},
		{"another account's", "UnrecognizedClientException", 400, []string{"credentials: refused by DynamoDB"}},
		{"unreachable", "", 0, []string{"no answer to PutItem", "check the endpoint, the region and the network"}},
		{"without credentials", "none", 0, []string{"credentials: none found for PutItem", "give the machine a role"}},
	} {
		t.Run(c.what, func(t *testing.T) {
			url := dynamotest.Dynoxide.Start(t)
			b := &broken{status: c.status, code: c.code}
			client := dynamodb.New(dynamotest.Client(url).Options(), func(o *dynamodb.Options) {
				o.Retryer = aws.NopRetryer{}
				if c.code == "none" {
					o.Credentials = noCredentials{&b.on, o.Credentials}
					return
				}
				o.HTTPClient = &http.Client{Transport: b}
			})
			s := openWith(t, dynamo.Options{Client: client, Registry: "t_registry"})
			tb := tableOf("varve", someTime)
			if err := s.Create(t.Context(), tb, store.Hot); err != nil {
				t.Fatal(err)
			}
			send(t, s, tb, sensor(someTime, "v", varve.IntValue(1)))
			b.on.Store(true)
			res := s.Write(t.Context(), []store.Batch{{Table: tb, Readings: []varve.Reading{sensor(someTime, "v", varve.IntValue(2))}}})[0]
			if res.Err != nil || !res.Verdicts[0].Code.Retryable() {
				t.Fatalf("%+v", res)
			}
			for _, want := range c.want {
				if !strings.Contains(res.Verdicts[0].Message, want) {
					t.Errorf("verdict %q, want %q in it", res.Verdicts[0].Message, want)
				}
			}
			if strings.Contains(res.Verdicts[0].Message, "\n") {
				t.Errorf("verdict of several lines: %q", res.Verdicts[0].Message)
			}
			if _, err := s.Read(t.Context(), store.Range{Table: tb, Series: sensor(someTime, "v", varve.IntValue(0)).Series, Window: varve.AllTime()}, nil); varve.FailureOf(err) != varve.Unavailable {
				t.Errorf("read: %v", err)
			}
			b.on.Store(false)
			if got := send(t, s, tb, sensor(someTime, "v", varve.IntValue(2))); got != "s" {
				t.Errorf("after the failure: verdict %s, want s", got)
			}
		})
	}
}
