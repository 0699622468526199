package kinesis_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"
	awskinesis "github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/engine"
	"github.com/varvedb/varve/ingest"
	"github.com/varvedb/varve/ingest/consumer"
	"github.com/varvedb/varve/ingest/kinesis"
	"github.com/varvedb/varve/ingest/records"
	"github.com/varvedb/varve/lease"
	"github.com/varvedb/varve/store/mem"
)

// shard is a Kinesis stream with one closed shard. Each record of the shard has an arrival of its own.
type shard struct{ records int }

func (s shard) RoundTrip(r *http.Request) (*http.Response, error) {
	var answer string
	switch _, action, _ := strings.Cut(r.Header.Get("X-Amz-Target"), "."); action {
	case "ListShards":
		answer = `{"Shards":[{"ShardId":"s","HashKeyRange":{"StartingHashKey":"0","EndingHashKey":"1"},"SequenceNumberRange":{"StartingSequenceNumber":"0"}}]}`
	case "GetShardIterator":
		answer = `{"ShardIterator":"i"}`
	case "GetRecords":
		var list []string
		for i := range s.records { // eyJmaWVsZHMiOnsiYSI6MX19 is {"fields":{"a":1}}
			list = append(list, fmt.Sprintf(`{"Data":"eyJmaWVsZHMiOnsiYSI6MX19","PartitionKey":"p","SequenceNumber":"%d","ApproximateArrivalTimestamp":%d}`, i+1, time.Now().Unix()-int64(i)))
		}
		answer = `{"MillisBehindLatest":0,"Records":[` + strings.Join(list, ",") + `]}`
	default:
		return nil, errors.New("unexpected action " + action)
	}
	return &http.Response{
		StatusCode: http.StatusOK, Request: r, Body: io.NopCloser(strings.NewReader(answer)), Header: http.Header{"Content-Type": {"application/x-amz-json-1.1"}},
	}, nil
}

// TestWorker_HoldsLeaseDuringLongBatch stores a batch whose records need 10 seconds each. Meanwhile another
// process tries to acquire the lease of the shard. It must not succeed before the batch is stored.
func TestWorker_HoldsLeaseDuringLongBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		items := mem.New(time.Now)
		e, err := engine.Open(t.Context(), engine.Options{Store: items})
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := e.Close(); err != nil {
				t.Error(err)
			}
		}()
		const count = 20
		other := &lease.Manager{Items: items, Now: time.Now, Holder: "other", TTL: 30 * time.Second}
		stored, metrics := 0, prometheus.NewRegistry()
		in := ingest.New(ingest.Options{Router: e.Router, Budget: wire.NewBudget(1 << 20), Judged: func(*wire.Batch) {
			time.Sleep(10 * time.Second) //nolint:forbidigo // synctest skips this wait
			if _, err := other.Acquire(t.Context(), "kinesis/readings/s"); !errors.Is(err, lease.ErrHeld) {
				t.Errorf("another process acquires the lease after %d records: %v, want ErrHeld", stored, err)
			}
			stored++
		}})
		c := kinesis.Start(kinesis.Options{
			Client: awskinesis.New(awskinesis.Options{
				Region: "eu-central-1", Credentials: credentials.NewStaticCredentialsProvider("a", "b", ""), HTTPClient: &http.Client{Transport: shard{count}},
			}),
			Stream: "readings", Items: items, Holder: "this", Receiver: &records.Receiver{Ingester: in, Now: time.Now},
			Target:  &records.Target{Format: wire.NDJSON, ArrivalIsTime: true, Defaults: wire.Defaults{Tenant: varve.DefaultTenant, Stream: "weather", Device: "d1"}},
			Metrics: consumer.NewMetrics(metrics, "kinesis"), Now: time.Now, Failed: func(err error, _ time.Duration) { t.Error(err) },
		})
		time.Sleep((count + 1) * 10 * time.Second) //nolint:forbidigo // synctest skips this wait
		c.Close()
		if stored != count {
			t.Errorf("%d records are stored, want each of %d once", stored, count)
		}
	})
}
