package dynamo_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/dynamo"
	"github.com/varvedb/varve/tests/dynamotest"
)

// coldTemplate is the template of the Terraform example. Sealed tables get another table class
// and less capacity.
const coldTemplate = `{
	"billing": "provisioned",
	"capacity": {"hot": {"read": 40, "write": 100}, "warm": {"read": 10, "write": 5}, "cold": {"read": 2, "write": 1}},
	"table_class": {"cold": "standard_infrequent_access"}
}`

// TestTune_LowersCapacityWithClass makes a table cold. The table must get the capacity of the cold
// tier. If the emulator supports table classes, the table must also get the class of the tier.
func TestTune_LowersCapacityWithClass(t *testing.T) {
	t.Parallel()
	for _, e := range both() {
		t.Run(e.Name, func(t *testing.T) {
			url := e.Start(t)
			s := openWith(t, dynamo.Options{Client: dynamotest.Client(url), Registry: "t_registry"})
			putTemplate(t, s, coldTemplate)
			tb := newTable(t, s)
			want := "provisioned 2/1, infrequent access, protected"
			if e.Name == dynamotest.Local.Name { // DynamoDB Local has no table classes
				want = "provisioned 2/1, protected"
			}
			for range 2 { // the second call changes nothing
				if err := s.Tune(t.Context(), tb, store.Cold); err != nil {
					t.Fatal(err)
				}
				if got := shape(describe(t, url, tb.Name())); got != want {
					t.Errorf("cold: %s, want %s", got, want)
				}
			}
			if err := s.Tune(t.Context(), tb, store.Hot); err != nil {
				t.Fatal(err)
			}
			if got := shape(describe(t, url, tb.Name())); got != "provisioned 40/100, protected" {
				t.Errorf("back to hot: %s", got)
			}
		})
	}
}

// TestTune_AcceptsLostAnswer loses the answer to a change of capacity. DynamoDB refuses the resent request while
// the change is in progress, and as invalid afterward. Tune must succeed.
func TestTune_AcceptsLostAnswer(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"capacity": `{"billing": "provisioned", "capacity": {"hot": {"read": 40, "write": 50}, "warm": {"read": 30, "write": 30}}}`,
		"class":    `{"table_class": {"warm": "standard_infrequent_access"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, link := standIn(t), &lostAnswer{action: "UpdateTable", code: "ResourceInUseException"}
			s := openWith(t, dynamo.Options{Client: hooked(url, link), Registry: "t_registry"})
			putTemplate(t, s, text)
			tb := newTable(t, s)
			before := shape(describe(t, url, tb.Name()))
			if err := s.Tune(t.Context(), tb, store.Warm); err != nil {
				t.Errorf("tune: %v", err)
			}
			if n, after := link.sent.Load(), shape(describe(t, url, tb.Name())); n != 2 || after == before {
				t.Errorf("%d updates, from %s to %s; want 2 and a change", n, before, after)
			}
		})
	}
}

// TestTune_LowersCapacityWithoutClass makes DynamoDB refuse a third change of the table class in
// 30 days. Tune must fail, but must lower the capacity. A later Tune must succeed.
func TestTune_LowersCapacityWithoutClass(t *testing.T) {
	t.Parallel()
	url := dynamotest.Dynoxide.Start(t)
	limited := &classLimited{}
	limited.on.Store(true)
	client := dynamodb.New(dynamotest.Client(url).Options(), func(o *dynamodb.Options) { o.HTTPClient = &http.Client{Transport: limited} })
	s := openWith(t, dynamo.Options{Client: client, Registry: "t_registry"})
	putTemplate(t, s, coldTemplate)
	tb := newTable(t, s)
	if err := s.Tune(t.Context(), tb, store.Cold); err == nil || !strings.Contains(err.Error(), "two table class updates") {
		t.Errorf("tuned: %v", err)
	}
	if got := shape(describe(t, url, tb.Name())); got != "provisioned 2/1, protected" {
		t.Errorf("without its class: %s", got)
	}
	limited.on.Store(false)
	if err := s.Tune(t.Context(), tb, store.Cold); err != nil {
		t.Fatal(err)
	}
	if got := shape(describe(t, url, tb.Name())); got != "provisioned 2/1, infrequent access, protected" {
		t.Errorf("with its class: %s", got)
	}
}

// classLimited is a transport. While the field "on" is true, it refuses changes of table classes, as
// DynamoDB does after two changes.
type classLimited struct{ on atomic.Bool }

func (c *classLimited) RoundTrip(r *http.Request) (*http.Response, error) {
	if !c.on.Load() || !strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".UpdateTable") {
		return http.DefaultTransport.RoundTrip(r)
	}
	body, err := io.ReadAll(r.Body)
	if err := errors.Join(err, r.Body.Close()); err != nil {
		return nil, err
	}
	if !bytes.Contains(body, []byte(`"TableClass"`)) {
		r.Body = io.NopCloser(bytes.NewReader(body))
		return http.DefaultTransport.RoundTrip(r)
	}
	const text = `{"__type":"com.amazonaws.dynamodb.v20120810#LimitExceededException","message":"more than two table class updates in a 30-day trailing period"}`
	return &http.Response{
		StatusCode: http.StatusBadRequest, Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}},
		Body: io.NopCloser(strings.NewReader(text)), ContentLength: int64(len(text)), Request: r,
	}, nil
}
