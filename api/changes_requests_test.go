package api_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/varvedb/varve/api"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/engine"
	"github.com/varvedb/varve/store/dynamo"
	"github.com/varvedb/varve/tests/dynamosim"
	"github.com/varvedb/varve/tests/dynamotest"
)

const deviceChangesPath = "/v1/streams/weather/devices/d1/arrivals"

// pollKey marks the context of a poll, so that requests of background tasks are not counted.
type pollKey struct{}

// pollCounter is a transport to DynamoDB that counts the requests of polls.
type pollCounter struct{ requests atomic.Int64 }

func (c *pollCounter) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Context().Value(pollKey{}) != nil {
		c.requests.Add(1)
	}
	return http.DefaultTransport.RoundTrip(r)
}

// process is a server on DynamoDB whose polls are counted.
type process struct {
	*server
	polls pollCounter
}

// newProcess starts a server on a stand-in for DynamoDB. It records the changes of all streams. The argument
// "holder" is the unique name of the process.
func newProcess(t *testing.T, url, holder string) *process {
	t.Helper()
	p := &process{}
	client := dynamodb.New(dynamotest.Client(url).Options(), func(o *dynamodb.Options) {
		o.HTTPClient = &http.Client{Transport: &p.polls}
	})
	p.server = newServer(t, func(o *engine.Options, l *api.Limits) {
		withChanges(o, l)
		s, err := dynamo.Open(t.Context(), dynamo.Options{Client: client, Registry: "polls", Now: o.Now})
		if err != nil {
			t.Fatal(err)
		}
		o.Store, o.Holder, o.Shared, o.NoRollups = s, holder, true, true
	})
	return p
}

// renew does the background work of some processes for a time: it stores their oldest arrivals.
func renew(t *testing.T, d time.Duration, processes ...*process) {
	t.Helper()
	for ; d > 0; d -= 15 * time.Second {
		for _, p := range processes {
			p.advance(15 * time.Second)
		}
		for range 2 { // in the second round, processes read the arrivals that others stored in the first one
			for _, p := range processes {
				for _, task := range []func(context.Context) error{p.engine.Cluster.Renew, p.engine.Changes.Refresh, p.engine.Devices.RefreshExisting} {
					if err := task(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
	}
}

// poll sends a request to the handler, and returns its answer and the requests to DynamoDB that it caused. Before,
// it sends another request, because the check of API keys needs a request every ten seconds, whatever the route.
func (p *process) poll(path string) (*httptest.ResponseRecorder, int64) {
	p.t.Helper()
	p.get("/healthz")
	before := p.polls.requests.Load()
	w := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(context.WithValue(p.t.Context(), pollKey{}, true), http.MethodGet, p.URL+path, http.NoBody)
	p.api.ServeHTTP(w, r)
	return w, p.polls.requests.Load() - before
}

// next expects a page without readings, and returns its cursor.
func (p *process) next(w *httptest.ResponseRecorder) string {
	p.t.Helper()
	var body wire.ChangesBody
	if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil || w.Code != http.StatusOK || body.Next == "" {
		p.t.Fatalf("%d %s, %v: want a page of changes", w.Code, w.Body, err)
	}
	return body.Next
}

// TestChanges_IdlePollNeedsTwoRequests polls a stream and a device once a minute, and counts the requests to
// DynamoDB of each poll.
func TestChanges_IdlePollNeedsTwoRequests(t *testing.T) {
	sim := httptest.NewServer(dynamosim.New(dynamosim.Options{}))
	defer sim.Close()
	p := newProcess(t, sim.URL, "one")
	renew(t, 15*time.Second, p)
	p.write(good(noon))
	renew(t, 2*time.Minute, p)
	for _, path := range []string{changesPath, deviceChangesPath} {
		w, first := p.poll(path)
		cursor := p.next(w)
		for range 15 {
			renew(t, time.Minute, p)
			w, n := p.poll(with(path, "since", cursor))
			if cursor = p.next(w); n < 1 || n > 2 {
				t.Errorf("%s: an idle poll needs %d requests, want 1 or 2; the first poll needed %d", path, n, first)
			}
		}
	}
}

// notFound expects that a poll fails with the status 404 and a message.
func (p *process) notFound(path, message string) {
	p.t.Helper()
	if w, _ := p.poll(path); w.Code != http.StatusNotFound || !strings.Contains(w.Body.String(), message) {
		p.t.Errorf("%s: %d %s, want the status 404 and %q", path, w.Code, w.Body, message)
	}
}

// TestChanges_PollOfUnknownNameIsNotFound polls an unknown stream, an unknown device and a deleted device. Each poll
// must fail with the status 404. Only a process that has found the device before may return a page for a minute.
func TestChanges_PollOfUnknownNameIsNotFound(t *testing.T) {
	sim := httptest.NewServer(dynamosim.New(dynamosim.Options{}))
	defer sim.Close()
	one, two, three := newProcess(t, sim.URL, "one"), newProcess(t, sim.URL, "two"), newProcess(t, sim.URL, "three")
	renew(t, 15*time.Second, one, two, three)
	one.write(good(noon))
	renew(t, 2*time.Minute, one, two, three)
	const noStream, noDevice = "stream wether: not found: GET /v1/streams lists all streams", "device d1: not found: GET /v1/devices lists all devices"
	for range 2 {
		one.notFound("/v1/streams/wether/arrivals", noStream)
		one.notFound("/v1/streams/wether/devices/d1/arrivals?since=-1m", noStream)
		one.notFound("/v1/streams/weather/devices/d2/arrivals", "device d2: not found: GET /v1/devices lists all devices")
	}
	w, _ := one.poll(deviceChangesPath)
	path := with(deviceChangesPath, "since", one.next(w))
	w, _ = two.poll(path)
	two.next(w)
	if r := one.send(http.MethodDelete, "/v1/devices/d1", ""); r.status != http.StatusOK {
		t.Fatalf("%d %s", r.status, r.body)
	}
	one.notFound(path, noDevice)
	three.notFound(path, noDevice)
	w, _ = two.poll(path)
	two.next(w)
	renew(t, time.Minute, one, two, three)
	two.notFound(path, noDevice)
}
