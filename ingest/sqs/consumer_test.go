package sqs_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/ingest"
	"github.com/varvedb/varve/ingest/consumer"
	"github.com/varvedb/varve/ingest/records"
	"github.com/varvedb/varve/ingest/sqs"
)

// queue is a queue of SQS with one message, whose visibility time-out is 30 seconds.
type queue struct {
	mu       sync.Mutex
	visible  time.Time // when the message can be received
	receives int
}

func (q *queue) receive() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if time.Now().Before(q.visible) {
		return false
	}
	q.visible = time.Now().Add(30 * time.Second)
	q.receives++
	return true
}

func (q *queue) RoundTrip(r *http.Request) (*http.Response, error) {
	answer := `{}`
	for range 20 {
		if q.receive() {
			answer = `{"Messages":[{"MessageId":"m","ReceiptHandle":"h","Body":"{}"}]}`
			break
		}
		if err := consumer.Wait(r.Context(), time.Second); err != nil {
			return nil, err
		}
	}
	return &http.Response{
		StatusCode: http.StatusOK, Request: r, Body: io.NopCloser(strings.NewReader(answer)), Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}},
	}, nil
}

// down is a destination that is never available.
type down struct{}

func (down) Admit() (ingest.Request, error) { return nil, errors.New("out of reach") }

// TestConsumer_ReceivesNoMessageTwiceInOutage checks that the other receivers of a consumer do not receive
// the message of a receiver that retries. Otherwise, SQS would move the message to a dead-letter queue.
func TestConsumer_ReceivesNoMessageTwiceInOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &queue{}
		in := ingest.New(ingest.Options{Destination: down{}, Budget: wire.NewBudget(1 << 20)})
		c := sqs.Start(sqs.Options{
			Client: awssqs.New(awssqs.Options{
				Region: "eu-central-1", Credentials: credentials.NewStaticCredentialsProvider("a", "b", ""), HTTPClient: &http.Client{Transport: q},
				DisableMessageChecksumValidation: true,
			}),
			Queue: "https://sqs.eu-central-1.amazonaws.com/123456789012/readings", Receivers: 4, Receiver: &records.Receiver{Ingester: in, Now: time.Now},
			Target:  &records.Target{Format: wire.NDJSON, Defaults: wire.Defaults{Tenant: varve.DefaultTenant, Stream: "weather"}},
			Metrics: consumer.NewMetrics(prometheus.NewRegistry(), "sqs"), Now: time.Now,
		})
		time.Sleep(10 * time.Minute) //nolint:forbidigo // synctest skips this wait
		c.Close()
		if q.receives != 1 {
			t.Errorf("the message is received %d times, want 1", q.receives)
		}
	})
}
