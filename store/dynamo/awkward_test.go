package dynamo_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/dynamo"
	"github.com/varvedb/varve/tests/dynamotest"
)

// wideReading has many fields.
func wideReading(at time.Time, fields int) varve.Reading {
	r := sensor(at, "f000", varve.IntValue(1))
	for f := 1; f < fields; f++ {
		r.Fields = append(r.Fields, varve.Field{Name: fmt.Sprintf("f%03d", f), Value: varve.IntValue(int64(f))})
	}
	r.ID = varve.ID{}
	r.Normalize()
	return r
}

// TestManyFields: readings of any number of fields go into rows that are there,
// whatever is expected of them.
func TestManyFields(t *testing.T) {
	t.Parallel()
	for _, e := range both() {
		t.Run(e.Name, func(t *testing.T) {
			s := open(t, e.Start(t), time.Now)
			tb := newTable(t, s)
			for i, fields := range []int{1, 59, 60, 61, 149, 199, 256} {
				for j, expect := range []store.Expect{store.ExpectExisting, store.ExpectNew} {
					at := someTime.Add(time.Duration(i*10+j) * time.Hour / 24)
					l := store.Layout{RowWindow: time.Hour, Expect: expect}
					lay(t, s, tb, l, sensor(at, "f000", varve.IntValue(-1)))
					if got := lay(t, s, tb, l, wideReading(at, fields)); got != "s" {
						t.Errorf("%d fields, expecting %d: %s", fields, expect, got)
					}
				}
			}
		})
	}
}

// TestEmptyNames: JSON with an empty name, which DynamoDB does not have, comes
// back as it was, and does not hold up its neighbours.
func TestEmptyNames(t *testing.T) {
	t.Parallel()
	for _, e := range emulators {
		t.Run(e.Name, func(t *testing.T) {
			s := open(t, e.Start(t), time.Now)
			tb := newTable(t, s)
			var readings []varve.Reading
			for i, text := range []string{`{"":1}`, `{"a":{"":[]}}`, `[{"":{"":""}}]`, `{"a":""}`} {
				v, err := varve.JSONValue([]byte(text))
				if err != nil {
					t.Fatal(err)
				}
				readings = append(readings, sensor(someTime.Add(time.Duration(i)*time.Second), "v", v))
			}
			l := store.Layout{RowWindow: time.Hour}
			if got := lay(t, s, tb, l, readings...); got != "ssss" {
				t.Errorf("verdicts %s", got)
			}
			compare(t, s, store.Range{Table: tb, Series: readings[0].Series, Window: varve.AllTime(), Layout: l, Consistent: true}, readings)
		})
	}
}

// picky refuses rows with a text in them, as DynamoDB does with what it cannot
// take as it is.
type picky struct{ text string }

func (p picky) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	if bytes.Contains(body, []byte(p.text)) {
		return refusal(r, http.StatusBadRequest, "ValidationException"), nil
	}
	return http.DefaultTransport.RoundTrip(r)
}

// TestOneBadReading: a reading that DynamoDB does not take is rejected for good,
// and none of those that share its row.
func TestOneBadReading(t *testing.T) {
	t.Parallel()
	url := dynamotest.Dynoxide.Start(t)
	client := dynamodb.New(dynamotest.Client(url).Options(), func(o *dynamodb.Options) {
		o.HTTPClient = &http.Client{Transport: picky{"poison"}}
	})
	s := openWith(t, dynamo.Options{Client: client, Registry: "t_registry"})
	tb := newTable(t, s)
	var readings []varve.Reading
	for _, v := range []string{"a", "poison", "b", "c"} {
		readings = append(readings, sensor(someTime, "v", varve.StringValue(v)))
	}
	res := s.Write(t.Context(), []store.Batch{{Table: tb, Readings: readings}})[0]
	for i, v := range res.Verdicts {
		if want := []varve.Outcome{varve.Stored, varve.Rejected, varve.Stored, varve.Stored}[i]; v.Outcome != want || v.Code.Retryable() {
			t.Errorf("reading %d: %s", i, v)
		}
	}
	if got := stored(t, s, tb); len(got) != 3 {
		t.Errorf("%d readings", len(got))
	}
}

// TestWrite_BlamesNoReadingForOtherRequests: if DynamoDB refuses a request that
// the store makes for itself, readings may be sent again.
func TestWrite_BlamesNoReadingForOtherRequests(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"row of the stream": `"#streams"`, "record of the table": `"used"`} {
		t.Run(name, func(t *testing.T) {
			way, url := &pickyLater{}, dynamotest.Dynoxide.Start(t)
			client := dynamodb.New(dynamotest.Client(url).Options(), func(o *dynamodb.Options) { o.HTTPClient = &http.Client{Transport: way} })
			s := openWith(t, dynamo.Options{Client: client, Registry: fmt.Sprintf("t_registry%d", registries.Add(1))})
			tb := newTable(t, s)
			way.text.Store(&text)
			readings := []varve.Reading{sensor(someTime, "v", varve.IntValue(1)), sensor(someTime.Add(time.Hour), "v", varve.IntValue(2))}
			res := s.Write(t.Context(), []store.Batch{{Table: tb, Readings: readings}})[0]
			for i, v := range res.Verdicts {
				if v.Code != varve.CodeUnavailable || !strings.Contains(v.Message, "ValidationException") {
					t.Errorf("reading %d: %s", i, v)
				}
			}
			way.text.Store(nil)
			if got := stored(t, s, tb); len(got) != 0 {
				t.Errorf("%d readings", len(got))
			}
		})
	}
}

// pickyLater is picky from the moment on at which text is set.
type pickyLater struct{ text atomic.Pointer[string] }

func (p *pickyLater) RoundTrip(r *http.Request) (*http.Response, error) {
	if text := p.text.Load(); text != nil {
		return picky{*text}.RoundTrip(r)
	}
	return http.DefaultTransport.RoundTrip(r)
}
