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

func wideReading(at time.Time, fields int) varve.Reading {
	r := sensor(at, "f000", varve.IntValue(1))
	for f := 1; f < fields; f++ {
		r.Fields = append(r.Fields, varve.Field{Name: fmt.Sprintf("f%03d", f), Value: varve.IntValue(int64(f))})
	}
	r.ID = varve.ID{}
	r.Normalize()
	return r
}

// TestWrite_AddsReadingsOfManyFields adds readings of up to 256 fields to existing rows, with
// ExpectExisting and with ExpectNew. Each reading must be stored.
func TestWrite_AddsReadingsOfManyFields(t *testing.T) {
	t.Parallel()
	for _, e := range both() {
		t.Run(e.Name, func(t *testing.T) {
			s := open(t, e.Start(t), time.Now)
			tb := newTable(t, s)
			for i, fields := range []int{1, 59, 60, 61, 149, 199, 256} {
				for j, expect := range []store.Expect{store.ExpectExisting, store.ExpectNew} {
					at := someTime.Add(time.Duration(i*10+j) * time.Hour / 24)
					l := store.Layout{RowWindow: time.Hour, Expect: expect}
					writeWith(t, s, tb, l, sensor(at, "f000", varve.IntValue(-1)))
					if got := writeWith(t, s, tb, l, wideReading(at, fields)); got != "s" {
						t.Errorf("%d fields, expectation %d: verdict %s, want s", fields, expect, got)
					}
				}
			}
		})
	}
}

// TestWrite_StoresJSONWithEmptyNames writes readings whose JSON has empty names, which DynamoDB refuses in
// documents. Reads must return all readings of the row unchanged.
func TestWrite_StoresJSONWithEmptyNames(t *testing.T) {
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
			if got := writeWith(t, s, tb, l, readings...); got != "ssss" {
				t.Errorf("verdicts %s, want ssss", got)
			}
			compare(t, s, store.Range{Table: tb, Series: readings[0].Series, Window: varve.AllTime(), Layout: l, Consistent: true}, readings)
		})
	}
}

// refusing is a transport that refuses requests with a text in them, as DynamoDB refuses invalid
// values.
type refusing struct{ text string }

func (p refusing) RoundTrip(r *http.Request) (*http.Response, error) {
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

// TestWrite_RejectsOnlyTheRefusedReading writes a reading that DynamoDB refuses as invalid. It must be
// rejected, and the rejection must not be retryable. The other readings of its row must be stored.
func TestWrite_RejectsOnlyTheRefusedReading(t *testing.T) {
	t.Parallel()
	url := dynamotest.Dynoxide.Start(t)
	client := dynamodb.New(dynamotest.Client(url).Options(), func(o *dynamodb.Options) {
		o.HTTPClient = &http.Client{Transport: refusing{"poison"}}
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
		t.Errorf("%d readings, want 3", len(got))
	}
}

// TestWrite_BlamesNoReadingForOtherRequests makes DynamoDB refuse a request that the store sends
// for its own purposes. The rejections must be retryable.
func TestWrite_BlamesNoReadingForOtherRequests(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"row of the stream": `"#streams"`, "record of the table": `"used"`} {
		t.Run(name, func(t *testing.T) {
			link, url := &refusingLater{}, dynamotest.Dynoxide.Start(t)
			client := dynamodb.New(dynamotest.Client(url).Options(), func(o *dynamodb.Options) { o.HTTPClient = &http.Client{Transport: link} })
			s := openWith(t, dynamo.Options{Client: client, Registry: fmt.Sprintf("t_registry%d", registries.Add(1))})
			tb := newTable(t, s)
			link.text.Store(&text)
			readings := []varve.Reading{sensor(someTime, "v", varve.IntValue(1)), sensor(someTime.Add(time.Hour), "v", varve.IntValue(2))}
			res := s.Write(t.Context(), []store.Batch{{Table: tb, Readings: readings}})[0]
			for i, v := range res.Verdicts {
				if v.Code != varve.CodeUnavailable || !strings.Contains(v.Message, "ValidationException") {
					t.Errorf("reading %d: %s", i, v)
				}
			}
			link.text.Store(nil)
			if got := stored(t, s, tb); len(got) != 0 {
				t.Errorf("%d readings, want 0", len(got))
			}
		})
	}
}

// refusingLater is like refusing, but refuses nothing while the field "text" is nil.
type refusingLater struct{ text atomic.Pointer[string] }

func (p *refusingLater) RoundTrip(r *http.Request) (*http.Response, error) {
	if text := p.text.Load(); text != nil {
		return refusing{*text}.RoundTrip(r)
	}
	return http.DefaultTransport.RoundTrip(r)
}
