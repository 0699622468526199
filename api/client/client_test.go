package client_test

import (
	"errors"
	"fmt"
	"io"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api"
	"github.com/varvedb/varve/api/client"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/engine"
	"github.com/varvedb/varve/store/mem"
)

var noon = time.Date(2026, 11, 18, 12, 0, 0, 0, time.UTC)

// newClient returns the client of a server over a store in memory. The clock of the server stands at noon.
func newClient(t *testing.T) *client.Client {
	t.Helper()
	now := func() time.Time { return noon }
	e, err := engine.Open(t.Context(), engine.Options{Store: mem.New(now), Holder: "test", Now: now})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(api.New(api.Options{
		Router: e.Router, Query: e.Query, Rotator: e.Rotator, Lifecycle: e.Store, Tables: e.Store, Streams: e.Streams, Devices: e.Devices, Logs: e.Logs, Alerts: e.Alerts, Items: e.Store, Now: now, Metrics: prometheus.NewRegistry(),
	}))
	t.Cleanup(func() {
		srv.Close()
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	c, err := client.New(srv.URL, client.WithRetries(0))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// device is a name with all kinds of characters that must be escaped in an address.
const device = `arn:x/y?z=1&ä#%2F "q"`

// readings returns n readings, a minute apart. The newest is 7 ns after noon.
func readings(n int) []varve.Reading {
	var list []varve.Reading
	for i := range n {
		list = append(list, varve.Reading{
			Series: varve.Series{Tenant: varve.DefaultTenant, Stream: "weather", Device: device},
			Time:   noon.Add(-time.Duration(n-1-i) * time.Minute).Add(7),
			Fields: []varve.Field{{Name: "v", Value: varve.IntValue(int64(i))}, {Name: "w", Value: varve.StringValue("ä\n\"")}},
		})
	}
	return list
}

func write(t *testing.T, c *client.Client, list []varve.Reading) {
	t.Helper()
	a, err := c.WriteReadings(t.Context(), "weather", list)
	if err != nil || int(a.Stored) != len(list) {
		t.Fatalf("%+v, %v", a, err)
	}
}

// TestClient_ReadsWrittenReadings checks that written readings are read unchanged, whole and page
// by page, in both orders.
func TestClient_ReadsWrittenReadings(t *testing.T) {
	c := newClient(t)
	n := 2400
	if testing.Short() {
		n = 600
	}
	list := readings(n)
	write(t, c, list)
	for _, order := range []varve.Order{varve.Ascending, varve.Descending} {
		for _, limit := range []int{0, 200, n} {
			q := client.Query{Stream: "weather", Device: device, Order: order, Limit: limit, Consistent: true, To: "+1h"}
			got, pages := 0, 0
			for {
				var a client.Answer
				for r, err := range c.Readings(t.Context(), q, &a) {
					if err != nil {
						t.Fatal(err)
					}
					want := &list[got]
					if order == varve.Descending {
						want = &list[n-1-got]
					}
					if !r.Time.Equal(want.Time) || r.Series != want.Series || r.Field("v") != want.Field("v") || r.Field("w") != want.Field("w") || !r.Arrived.Equal(noon) || r.ID.IsZero() {
						t.Fatalf("reading %d: %s, want %s", got, r, want)
					}
					got++
				}
				pages++
				if len(a.Coverage.Read) == 0 {
					t.Fatalf("coverage %+v", a.Coverage)
				}
				if q.Cursor = a.Next; q.Cursor == "" {
					break
				}
			}
			if got != n || pages != map[int]int{0: 1, 200: n / 200, n: 1}[limit] {
				t.Errorf("%s, limit %d: %d readings, %d pages", order, limit, got, pages)
			}
		}
	}
	got := 0
	for _, err := range c.Readings(t.Context(), client.Query{Stream: "weather", Device: device}, nil) {
		if got++; got == 3 || err != nil {
			break // leaves the other readings unread
		}
	}
	if got != 3 {
		t.Error(got)
	}
}

// TestWrite_ReturnsVerdicts checks that an answer with rejected readings is returned as an answer
// and not as an error.
func TestWrite_ReturnsVerdicts(t *testing.T) {
	c := newClient(t)
	rows := []struct {
		body client.Body
		want string
	}{
		{client.Body{Data: []byte(`[{},{"device":"d","time":1475001526000,"fields":{"a":1}}]`), Format: wire.JSON}, "1 0 1 time_missing"},
		{client.Body{Data: []byte("{}\n"), Format: wire.NDJSON}, "0 0 1 time_missing"},
		{client.Body{Data: []byte("time,a\n1475001526,1\n"), Format: wire.CSV, Params: url.Values{"device": {"d"}, "precision": {"s"}}}, "0 1 0"},
	}
	for _, row := range rows {
		a, err := c.Write(t.Context(), "weather", row.body)
		got := fmt.Sprintf("%d %d %d", a.Stored, a.Duplicates, a.Rejected)
		for _, r := range a.Rejects {
			got += " " + r.Code
		}
		if err != nil || got != row.want {
			t.Errorf("%s, want %s: %v", got, row.want, err)
		}
	}
}

// TestError_HasFailureOfServer checks that the error of a call has the failure, the parameter and
// the message of the server.
func TestError_HasFailureOfServer(t *testing.T) {
	c := newClient(t)
	q := client.Query{Stream: "weather", Device: device}
	rows := []struct {
		why     string
		call    func() error
		failure varve.Failure
		param   string
		says    string
	}{
		{"a bad body", func() error {
			_, err := c.Write(t.Context(), "weather", client.Body{Data: []byte("x"), Format: wire.JSON})
			return err
		}, varve.Invalid, "", "Content-Type"},
		{"a bad encoding", func() error {
			_, err := c.Write(t.Context(), "weather", client.Body{Encoding: "br", Format: wire.JSON})
			return err
		}, varve.Invalid, "header.Content-Encoding", "gzip"},
		{"a bad stream", func() error {
			_, err := c.Write(t.Context(), "a b", client.Body{Format: wire.JSON})
			return err
		}, varve.Invalid, "path.stream", "letters"},
		{"a bad time", func() error { _, err := c.Explain(t.Context(), with(q, "soon")); return err }, varve.Invalid, "from", "RFC 3339"},
		{"a bad cursor", func() error { q.Cursor = "x"; _, err := c.Raw(t.Context(), q, wire.CSV); return err }, varve.Invalid, "cursor", "next"},
		{"no such table", func() error { _, err := c.Restore(t.Context(), "x/y"); return err }, varve.NotFound, "", "x/y"},
		{"a bad plan", func() error { _, err := c.Plan(t.Context(), "soon"); return err }, varve.Invalid, "at", "RFC 3339"},
		{"no devices", func() error { _, err := c.Latest(t.Context(), "weather", varve.ByEvent); return err }, varve.Invalid, "device", "name devices"},
	}
	for _, row := range rows {
		err := row.call()
		var e *varve.Error
		if !errors.As(err, &e) || e.Failure != row.failure || e.Param != row.param || !strings.Contains(e.Message, row.says) {
			t.Errorf("%s: %#v, want parameter %q, %q", row.why, err, row.param, row.says)
		} else if row.param != "" && strings.HasPrefix(strings.TrimPrefix(e.Message, "query."), row.param+":") {
			t.Errorf("%s: the parameter is named twice in %q", row.why, err)
		}
	}
}

func with(q client.Query, from string) client.Query {
	q.From = from
	return q
}

// TestClient_CallsTablesPlansAndStreams calls the methods for tables, plans, streams and raw
// answers, and checks the results.
func TestClient_CallsTablesPlansAndStreams(t *testing.T) {
	c := newClient(t)
	write(t, c, readings(3))
	latest, err := c.Latest(t.Context(), "weather", varve.ByArrival, "none", device)
	if err != nil || len(latest) != 2 || latest[0].Reading != nil || latest[0].Device != "none" || latest[1].Reading == nil || latest[1].Reading.Field("v") != varve.IntValue(2) {
		t.Errorf("%+v, %v", latest, err)
	}
	x, err := c.Explain(t.Context(), client.Query{Stream: "weather", Device: device, From: "-1h"})
	if err != nil || len(x.Tables) != 1 {
		t.Fatalf("%+v, %v", x, err)
	}
	name := x.Tables[0].Name
	held, err := c.Hold(t.Context(), name, "case 17")
	if err != nil || held.Hold != "case 17" || held.Name != name {
		t.Errorf("%+v, %v", held, err)
	}
	if freed, err := c.Release(t.Context(), name); err != nil || freed.Hold != "" {
		t.Errorf("%+v, %v", freed, err)
	}
	if _, err := c.Restore(t.Context(), name); varve.FailureOf(err) != varve.Conflict {
		t.Error(err)
	}
	if a, err := c.TableArrivals(t.Context(), name); err != nil || a.Table != name {
		t.Errorf("%+v, %v", a, err)
	}
	if list, err := c.Tables(t.Context()); err != nil || len(list.Tables) == 0 {
		t.Errorf("%+v, %v", list, err)
	}
	if p, err := c.Plan(t.Context(), "+30d"); err != nil || len(p.Actions) == 0 {
		t.Errorf("%+v, %v", p, err)
	}
	if p, err := c.Apply(t.Context()); err != nil || p.Ready == 0 {
		t.Errorf("%+v, %v", p, err)
	}
	if _, err := c.ApplyPlan(t.Context(), "0123456789abcdef"); varve.FailureOf(err) != varve.Conflict {
		t.Errorf("another plan: %v, want a conflict", err)
	}
	if s, err := c.Streams(t.Context()); err != nil || len(s.Streams) != 1 || s.Streams[0].Name != "weather" {
		t.Errorf("%+v, %v", s, err)
	}
	if r, err := c.Ready(t.Context()); err != nil || !r.Ready {
		t.Errorf("%+v, %v", r, err)
	}
	resp, err := c.Raw(t.Context(), client.Query{Stream: "weather", Device: device, Limit: 1, Fields: []string{"v"}, Order: varve.Descending}, wire.CSV)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || !strings.HasPrefix(string(text), "time,id,arrived,v\r\n") || !strings.HasSuffix(string(text), ",2\r\n") || resp.Trailer.Get("Varve-Next") == "" {
		t.Errorf("%q, %v, %v", text, resp.Trailer, err)
	}
}

// TestRaw_ReturnsArrowStream reads an answer in Arrow whose numbers are floats.
func TestRaw_ReturnsArrowStream(t *testing.T) {
	c := newClient(t)
	write(t, c, readings(3))
	resp, err := c.Raw(t.Context(), client.Query{Stream: "weather", Device: device, Fields: []string{"v"}, Numbers: "float"}, wire.Arrow)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	stream, err := ipc.NewReader(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Release()
	record, err := stream.Read()
	if err != nil {
		t.Fatal(err)
	}
	v, ok := record.Column(3).(*array.Float64)
	if !ok || fmt.Sprint(v.Float64Values()) != "[0 1 2]" || record.ColumnName(3) != "v" {
		t.Errorf("%s", record)
	}
}

// TestReadiness_IsReturnedIfNotReady checks that the answer of a server that is not ready is
// returned, and is not an error.
func TestReadiness_IsReturnedIfNotReady(t *testing.T) {
	s := &script{answers: []answer{{status: 503, media: "application/json", body: `{"ready":false,"why":"not yet"}`}}}
	if r, err := s.client(t).Ready(t.Context()); err != nil || r.Ready || r.Why != "not yet" || len(s.at) != 1 {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestWrite_FailsIfNoneStored checks that the error of a write has the reason if no reading was
// stored.
func TestWrite_FailsIfNoneStored(t *testing.T) {
	s := &script{answers: []answer{{status: 503, media: "application/json",
		body: `{"stored":0,"rejected":1,"rejects":[{"code":"unavailable","message":"the disk is full"}]}`}}}
	_, err := s.client(t, client.WithRetries(0)).Write(t.Context(), "weather", client.Body{Data: []byte(`{}`), Format: wire.JSON})
	var e *varve.Error
	if !errors.As(err, &e) || e.Failure != varve.Unavailable || e.Message != "the disk is full" {
		t.Errorf("%v", err)
	}
}
