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

// slow is a transport that returns every second batch of writes as unprocessed, as DynamoDB may
// do under load.
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

// TestPutAll_RetriesUnprocessedItems makes DynamoDB return items of a batch as unprocessed. They
// must be resent, and all units must be counted.
func TestPutAll_RetriesUnprocessedItems(t *testing.T) {
	url := dynamotest.Dynoxide.Start(t)
	link := &slow{}
	client := dynamodb.New(dynamotest.Client(url).Options(), func(o *dynamodb.Options) { o.HTTPClient = &http.Client{Transport: link} })
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
	got, err := s.Get(t.Context(), keys, true)
	if err != nil || len(got) != 60 || link.undone != 60 {
		t.Errorf("%d items, %d left unprocessed first, %v; want 60 and 60", len(got), link.undone, err)
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
