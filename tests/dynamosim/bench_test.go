package dynamosim_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/varvedb/varve/tests/dynamosim"
	"github.com/varvedb/varve/tests/dynamosim/capacity"
)

// BenchmarkPutItem measures a put of a typical reading, without a network.
func BenchmarkPutItem(b *testing.B) {
	limits := capacity.Amazon()
	limits.Partition, limits.Initial, limits.Quota = capacity.Units{1e9, 1e9}, capacity.Units{1e9, 1e9}, capacity.Units{1e9, 1e9}
	s := dynamosim.New(dynamosim.Options{Limits: &limits})
	if status, answer := call(s, "CreateTable", onDemandTable); status != http.StatusOK {
		b.Fatal(answer)
	}
	w := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(b.Context(), http.MethodPost, "/", nil)
	r.Header.Set("X-Amz-Target", "DynamoDB_20120810.PutItem")
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		body := fmt.Sprintf(`{"ConditionExpression":"attribute_not_exists(series)","Item":{"_at":{"M":{"EHJ0CP1xDFm":{"N":"1794830401.25"}}},"_ids":{"SS":["EHJ0CP1xDFm"]},`+
			`"battery":{"M":{"EHJ0CP1xDFm":{"N":"75"}}},"humidity":{"M":{"EHJ0CP1xDFm":{"N":"45.5"}}},"series":{"S":"acme/weather/sensor_%03d"},"temperature":{"M":{"EHJ0CP1xDFm":{"N":"22.4"}}},"ts":{"N":"%d"}},`+
			`"ReturnConsumedCapacity":"TOTAL","ReturnValuesOnConditionCheckFailure":"ALL_OLD","TableName":"readings"}`, i%1000, 1794830400000+i)
		r.Body, r.ContentLength = io.NopCloser(strings.NewReader(body)), int64(len(body))
		w.Body.Reset()
		if s.ServeHTTP(w, r); w.Code != http.StatusOK {
			b.Fatal(w.Body)
		}
	}
}
