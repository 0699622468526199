package dynamo_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/dynamo"
	"github.com/varvedb/varve/tests/dynamotest"
)

// faulty is a transport that makes about every fifth request fail while the field "on" is true. The
// request is throttled, fails with an internal error, or loses its connection before or after it was
// executed.
type faulty struct {
	next http.RoundTripper
	on   atomic.Bool
	mu   sync.Mutex
	rng  *rand.Rand
}

func (f *faulty) draw() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.rng.IntN(20)
}

var errCut = errors.New("connection reset")

func (f *faulty) RoundTrip(r *http.Request) (*http.Response, error) {
	fault := 4
	if f.on.Load() {
		fault = f.draw()
	}
	switch fault {
	case 0:
		return refusal(r, http.StatusBadRequest, "ProvisionedThroughputExceededException"), nil
	case 1:
		return refusal(r, http.StatusInternalServerError, "InternalServerError"), nil
	case 2:
		return nil, errCut
	}
	resp, err := f.next.RoundTrip(r)
	if fault == 3 && err == nil {
		return nil, errors.Join(errCut, resp.Body.Close())
	}
	return resp, err
}

func refusal(r *http.Request, status int, code string) *http.Response {
	body := fmt.Sprintf(`{"__type":"com.amazonaws.dynamodb.v20120810#%s","message":"injected"}`, code)
	return &http.Response{
		Status: http.StatusText(status), StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}},
		Body:   io.NopCloser(bytes.NewReader([]byte(body))), ContentLength: int64(len(body)),
	}
}

// TestWrite_SurvivesFaults makes requests fail at random. Each reading must get a verdict.
// Acknowledged readings must be stored once and whole, and all rejections must be retryable.
func TestWrite_SurvivesFaults(t *testing.T) {
	t.Parallel()
	url := dynamotest.Dynoxide.Start(t)
	link := &faulty{next: http.DefaultTransport, rng: rand.New(rand.NewPCG(1, 2))}
	client := dynamodb.New(dynamotest.Client(url).Options(), func(o *dynamodb.Options) {
		o.HTTPClient = &http.Client{Transport: link}
		// With only two attempts, some requests fail permanently.
		o.Retryer = retry.NewStandard(func(so *retry.StandardOptions) {
			so.MaxAttempts = 2
			so.MaxBackoff = time.Millisecond
			so.RateLimiter = ratelimit.None
		})
	})
	s := openWith(t, dynamo.Options{Client: client, Registry: "t_registry"})
	table := tableOf("t", someTime)
	if err := s.Create(t.Context(), table, store.Hot); err != nil {
		t.Fatal(err)
	}
	// The first write confirms the table. The faults begin after it.
	if got := send(t, s, table, sensor(someTime, "first", varve.IntValue(1))); got != "s" {
		t.Fatal(got)
	}
	link.on.Store(true)
	acked, rejected := writeThroughFaults(t, s, table)
	link.on.Store(false)
	if rejected == 0 || len(acked) < 100 {
		t.Fatalf("%d readings were acknowledged and %d rejected, want at least 100 and 1", len(acked), rejected)
	}
	found := map[varve.Position]bool{}
	for _, r := range stored(t, s, table) {
		p := r.Position()
		if found[p] {
			t.Errorf("%v is returned twice", p)
		}
		found[p] = true
		if _, torn := acked[p]; torn && len(r.Fields) != 2 {
			t.Errorf("%v has the fields %v, want two", p, r.Fields)
		}
	}
	for p := range acked {
		if !found[p] {
			t.Errorf("%v was acknowledged, and is missing", p)
		}
	}
	t.Logf("%d acknowledged, %d rejected, %d stored", len(acked), rejected, len(found))
}

// writeThroughFaults sends readings from several goroutines. Many readings have the same time.
func writeThroughFaults(t *testing.T, s *dynamo.Store, table grid.Table) (acked map[varve.Position]bool, rejected int) {
	acked = map[varve.Position]bool{}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for i := range 60 {
				list := make([]varve.Reading, 0, 3)
				for j := range 3 {
					r := sensor(someTime.Add(time.Duration(i%20)*time.Millisecond), "a", varve.IntValue(int64(w*1000+i*3+j)))
					r.Fields = append(r.Fields, varve.Field{Name: "b", Value: varve.StringValue(strings.Repeat("x", 50))})
					list = append(list, r)
				}
				result := s.Write(t.Context(), []store.Batch{{Table: table, Readings: list}})[0]
				mu.Lock()
				for k := range list {
					switch {
					case result.Err != nil:
						rejected++
					case result.Verdicts[k].Outcome == varve.Rejected:
						rejected++
						if !result.Verdicts[k].Code.Retryable() {
							t.Errorf("%s does not allow a retry", result.Verdicts[k])
						}
					case result.Verdicts[k].Outcome == 0:
						t.Errorf("reading %d has no verdict", k)
					default:
						acked[list[k].Position()] = true
					}
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return acked, rejected
}
