package dynamo_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/dynamo"
	"github.com/varvedb/varve/tests/dynamotest"
)

// slow is a way to the endpoint on which of every other batch of writes all but
// the first is left undone, as DynamoDB does when it has much to do.
type slow struct{ batches, undone int }

func (f *slow) RoundTrip(r *http.Request) (*http.Response, error) {
	if !strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".BatchWriteItem") {
		return http.DefaultTransport.RoundTrip(r)
	}
	if f.batches++; f.batches%2 == 0 {
		return http.DefaultTransport.RoundTrip(r)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	var in struct{ RequestItems map[string][]json.RawMessage }
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, err
	}
	for _, requests := range in.RequestItems {
		f.undone += len(requests)
	}
	answer, err := json.Marshal(map[string]any{"UnprocessedItems": in.RequestItems})
	if err != nil {
		return nil, err
	}
	return &http.Response{
		Status: "OK", StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}},
		Body:   io.NopCloser(bytes.NewReader(answer)), ContentLength: int64(len(answer)),
	}, nil
}

// TestUnprocessedItems: what DynamoDB leaves undone of a batch is sent again,
// and all of it is counted.
func TestUnprocessedItems(t *testing.T) {
	url := dynamotest.Dynoxide.Start(t)
	way := &slow{}
	client := dynamodb.New(dynamotest.Client(url).Options(), func(o *dynamodb.Options) { o.HTTPClient = &http.Client{Transport: way} })
	s, err := dynamo.Open(t.Context(), dynamo.Options{Client: client, Registry: "t_registry"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	var items []store.Item
	var keys []store.Key
	for i := range 60 {
		k := store.Key{PK: "p", SK: fmt.Sprint(i)}
		items, keys = append(items, store.Item{Key: k}), append(keys, k)
	}
	before := s.Usage().RegistryWrites.Units
	if err := s.PutAll(t.Context(), items); err != nil {
		t.Fatal(err)
	}
	there, err := s.Get(t.Context(), keys, true)
	if err != nil || len(there) != 60 || way.undone != 60 {
		t.Errorf("%d items, %d were left undone first, %v", len(there), way.undone, err)
	}
	if units := s.Usage().RegistryWrites.Units - before; units != 60 {
		t.Errorf("%v units, want 60", units)
	}
	if err := s.DeleteAll(t.Context(), keys); err != nil {
		t.Fatal(err)
	}
	if left, err := s.Get(t.Context(), keys, true); err != nil || len(left) != 0 {
		t.Errorf("left %+v, %v", left, err)
	}
}
