package dynamosim_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/varvedb/varve/tests/dynamosim"
	"github.com/varvedb/varve/tests/dynamosim/capacity"
)

// call sends a request without a network. It returns the status and the body of the answer.
func call(s http.Handler, op, body string) (int, string) {
	r := httptest.NewRequestWithContext(context.Background(), http.MethodPost, "/", strings.NewReader(body))
	r.Header.Set("X-Amz-Target", "DynamoDB_20120810."+op)
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

const onDemandTable = `{"TableName":"readings","BillingMode":"PAY_PER_REQUEST",
	"AttributeDefinitions":[{"AttributeName":"series","AttributeType":"S"},{"AttributeName":"ts","AttributeType":"N"},{"AttributeName":"g","AttributeType":"S"}],
	"KeySchema":[{"AttributeName":"series","KeyType":"HASH"},{"AttributeName":"ts","KeyType":"RANGE"}],
	"GlobalSecondaryIndexes":[{"IndexName":"by_g","KeySchema":[{"AttributeName":"g","KeyType":"HASH"}],"Projection":{"ProjectionType":"ALL"}}]}`

func newServer(t *testing.T, o dynamosim.Options) *dynamosim.Server {
	t.Helper()
	s := dynamosim.New(o)
	if status, answer := call(s, "CreateTable", onDemandTable); status != http.StatusOK {
		t.Fatalf("CreateTable: %s", answer)
	}
	return s
}

func put(series string, ts int, more string) string {
	return fmt.Sprintf(`{"TableName":"readings","Item":{"series":{"S":%q},"ts":{"N":"%d"}%s}}`, series, ts, more)
}

// TestServer_AnswersAfterLatency measures concurrent requests with the fake clock of synctest.
// They must not wait for each other.
func TestServer_AnswersAfterLatency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, dynamosim.Options{Latency: func() time.Duration { return 4*time.Millisecond + rand.N(4*time.Millisecond) }})
		begin := time.Now()
		done := make(chan time.Duration, 100)
		for i := range cap(done) {
			go func() {
				call(s, "PutItem", put("a", i, ""))
				done <- time.Since(begin)
			}()
		}
		for range cap(done) {
			if took := <-done; took < 4*time.Millisecond || took > 8*time.Millisecond {
				t.Errorf("a request took %s, want 4 to 8 ms", took)
			}
		}
	})
}

// throttle is the error in the answer to a throttled request.
type throttle struct {
	Type              string `json:"__type"`
	ThrottlingReasons []struct{ Reason, Resource string }
}

// TestServer_ThrottlesHotKeyAlone writes one key more often than its partition allows in a second.
// Keys of other partitions must not be throttled.
func TestServer_ThrottlesHotKeyAlone(t *testing.T) {
	limits := capacity.Amazon()
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	s := newServer(t, dynamosim.Options{Limits: &limits, Now: func() time.Time { return now }})
	admitted := 0
	answer := ""
	for i := range 1200 {
		var status int
		if status, answer = call(s, "PutItem", put("hot", i, "")); status == http.StatusOK {
			admitted++
		}
	}
	if admitted != 1000 {
		t.Errorf("%d writes of the hot key admitted in a second, want 1,000", admitted)
	}
	var f throttle
	if err := json.Unmarshal([]byte(answer), &f); err != nil || len(f.ThrottlingReasons) != 1 {
		t.Fatalf("answer %s, %v, want a reason", answer, err)
	}
	if got, want := f.ThrottlingReasons[0].Reason, "TableWriteKeyRangeThroughputExceeded"; got != want || !strings.HasSuffix(f.Type, "#ThrottlingException") || !strings.HasSuffix(f.ThrottlingReasons[0].Resource, ":table/readings") {
		t.Errorf("throttled by %s for %s, want ThrottlingException for %s", f.Type, got, want)
	}
	others := 0
	for i := range 100 {
		if status, _ := call(s, "PutItem", put(fmt.Sprintf("other%d", i), i, "")); status == http.StatusOK {
			others++
		}
	}
	if others < 60 { // about a quarter of the keys are in the hot partition, and are throttled, too
		t.Errorf("%d of 100 other keys admitted, want the ones of the other partitions", others)
	}
	now = now.Add(time.Second)
	if status, answer := call(s, "PutItem", put("hot", 1, "")); status != http.StatusOK {
		t.Errorf("a second later: %s, want success", answer)
	}
}

// TestServer_ThrottlesWritesOfHotIndexKey writes many keys of a table whose items have the same
// key in an index. The writes must be throttled because of the index.
func TestServer_ThrottlesWritesOfHotIndexKey(t *testing.T) {
	limits := capacity.Amazon()
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	s := newServer(t, dynamosim.Options{Limits: &limits, Now: func() time.Time { return now }})
	admitted, answer := 0, ""
	for i := range 1500 {
		var status int
		if status, answer = call(s, "PutItem", put(fmt.Sprintf("s%d", i), i, `,"g":{"S":"same"}`)); status == http.StatusOK {
			admitted++
		}
	}
	if admitted != 1000 || !strings.Contains(answer, "IndexWriteKeyRangeThroughputExceeded") || !strings.Contains(answer, "table/readings/index/by_g") {
		t.Errorf("%d writes admitted, last answer %s, want 1,000 and the index as the reason", admitted, answer)
	}
}

// TestServer_LeavesThrottledPartOfBatchUnprocessed writes batches with one key until the
// partition has no units left. The rest of a batch must be returned as unprocessed.
func TestServer_LeavesThrottledPartOfBatchUnprocessed(t *testing.T) {
	limits := capacity.Amazon()
	limits.Partition[capacity.Write] = 10
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	s := newServer(t, dynamosim.Options{Limits: &limits, Now: func() time.Time { return now }})
	var requests []string
	for i := range 25 {
		requests = append(requests, fmt.Sprintf(`{"PutRequest":{"Item":{"series":{"S":"a"},"ts":{"N":"%d"}}}}`, i))
	}
	body := `{"RequestItems":{"readings":[` + strings.Join(requests, ",") + `]}}`
	status, answer := call(s, "BatchWriteItem", body)
	if rest := strings.Count(answer, "PutRequest"); status != http.StatusOK || rest != 15 {
		t.Errorf("status %d, %d unprocessed, want 200 and 15: %s", status, rest, answer)
	}
	if status, answer = call(s, "BatchWriteItem", body); status != http.StatusBadRequest || !strings.Contains(answer, "ThrottlingException") {
		t.Errorf("status %d, %s, want a throttled batch", status, answer)
	}
}

// TestServer_PagesAtOneMegabyte reads 30 items of 100 KB. Each page must have at most 1 MB.
func TestServer_PagesAtOneMegabyte(t *testing.T) {
	s := newServer(t, dynamosim.Options{})
	for i := range 30 {
		if status, answer := call(s, "PutItem", put("a", i, `,"text":{"S":"`+strings.Repeat("x", 100_000)+`"}`)); status != http.StatusOK {
			t.Fatal(answer)
		}
	}
	for _, op := range []string{
		`Query {"TableName":"readings","KeyConditionExpression":"series=:s","ExpressionAttributeValues":{":s":{"S":"a"}},"ReturnConsumedCapacity":"TOTAL"%s}`,
		`Scan {"TableName":"readings","ReturnConsumedCapacity":"TOTAL"%s}`,
	} {
		name, body, _ := strings.Cut(op, " ")
		var counts []int
		start := ""
		for {
			_, answer := call(s, name, fmt.Sprintf(body, start))
			var page struct {
				Count            int
				LastEvaluatedKey json.RawMessage
			}
			if err := json.Unmarshal([]byte(answer), &page); err != nil {
				t.Fatal(err)
			}
			counts = append(counts, page.Count)
			if page.LastEvaluatedKey == nil {
				break
			}
			start = `,"ExclusiveStartKey":` + string(page.LastEvaluatedKey)
		}
		if fmt.Sprint(counts) != "[10 10 10]" {
			t.Errorf("%s: pages of %v, want [10 10 10]", name, counts)
		}
	}
}

// TestServer_LimitsDecreasesOfUnits lowers the units of a table five times in an hour. The fifth
// decrease must be refused.
func TestServer_LimitsDecreasesOfUnits(t *testing.T) {
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	s := newServer(t, dynamosim.Options{Now: func() time.Time { return now }, TableDelay: time.Second})
	set := func(units int) (int, string) {
		now = now.Add(2 * time.Second)
		return call(s, "UpdateTable", fmt.Sprintf(`{"TableName":"readings","BillingMode":"PROVISIONED","ProvisionedThroughput":{"ReadCapacityUnits":%d,"WriteCapacityUnits":%d}}`, units, units))
	}
	for units := 10; units > 5; units-- {
		if status, answer := set(units); status != http.StatusOK {
			t.Fatalf("%d units: %s", units, answer)
		}
	}
	if status, answer := set(5); status != http.StatusBadRequest || !strings.Contains(answer, "LimitExceededException") {
		t.Errorf("a fifth decrease: %d %s, want a refusal", status, answer)
	}
	now = now.Add(time.Hour)
	if status, answer := set(5); status != http.StatusOK {
		t.Errorf("an hour later: %s, want success", answer)
	}
	if _, answer := call(s, "UpdateTable", `{"TableName":"readings","DeletionProtectionEnabled":true}`); !strings.Contains(answer, "ResourceInUseException") {
		t.Errorf("a change during a change: %s, want a refusal", answer)
	}
}
