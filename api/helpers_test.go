package api_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/console"
	"github.com/varvedb/varve/engine"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/receipts"
	"github.com/varvedb/varve/store"
	"github.com/varvedb/varve/store/mem"
)

// noon is the time at which the tests begin.
var noon = time.Date(2026, 11, 18, 12, 0, 0, 0, time.UTC)

var errDisk = errors.New("the disk is full")

// faulty is a store in memory that fails or waits on demand.
type faulty struct {
	*mem.Store
	mu    sync.Mutex
	write func(grid.Table) error
	read  func(grid.Table) error
	last  func(grid.Table) error // called before Latest
	items error
	drops error // the error that DeleteAll returns; if nil, DeleteAll works

	tables func(store.Filter) error // must be set before the store is used, because mu does not guard it
}

func (f *faulty) Tables(ctx context.Context, filter store.Filter) ([]store.Info, error) {
	if f.tables != nil {
		if err := f.tables(filter); err != nil {
			return nil, err
		}
	}
	return f.Store.Tables(ctx, filter)
}

func (f *faulty) hook(h *func(grid.Table) error, t grid.Table) error {
	f.mu.Lock()
	do := *h
	f.mu.Unlock()
	if do == nil {
		return nil
	}
	return do(t)
}

// failItems makes the registry fail with err. If err is nil, the registry works again.
func (f *faulty) failItems(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.items = err
}

func (f *faulty) Get(ctx context.Context, keys []store.Key, consistent bool) ([]store.Item, error) {
	f.mu.Lock()
	err := f.items
	f.mu.Unlock()
	if err != nil {
		return nil, err
	}
	return f.Store.Get(ctx, keys, consistent)
}

// failDeletes makes the deletion of several items fail with err. If err is nil, the deletion works again.
func (f *faulty) failDeletes(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.drops = err
}

func (f *faulty) DeleteAll(ctx context.Context, keys []store.Key) error {
	f.mu.Lock()
	err := f.drops
	f.mu.Unlock()
	if err != nil {
		return err
	}
	return f.Store.DeleteAll(ctx, keys)
}

func (f *faulty) set(h *func(grid.Table) error, do func(grid.Table) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	*h = do
}

// errHangs is returned by the hook of writes to make a write hang.
var errHangs = errors.New("the store hangs")

func (f *faulty) Write(ctx context.Context, batches []store.Batch) []store.Result {
	results := make([]store.Result, len(batches))
	for i, b := range batches {
		results[i].Err = f.hook(&f.write, b.Table)
		if errors.Is(results[i].Err, errHangs) {
			<-ctx.Done() // like a store that cannot be reached
			results[i].Err = fmt.Errorf("%w: %w", errHangs, context.Cause(ctx))
		}
		if results[i].Err == nil {
			results[i] = f.Store.Write(ctx, []store.Batch{b})[0]
		}
	}
	return results
}

func (f *faulty) Read(ctx context.Context, r store.Range, dst []varve.Reading) (store.Page, error) {
	if err := f.hook(&f.read, r.Table); err != nil {
		return store.Page{}, err
	}
	return f.Store.Read(ctx, r, dst)
}

func (f *faulty) Latest(ctx context.Context, l store.Latest) (varve.Reading, bool, store.Cost, error) {
	if err := f.hook(&f.last, l.Table); err != nil {
		return varve.Reading{}, false, store.Cost{}, err
	}
	return f.Store.Latest(ctx, l)
}

// server is a server over a store in memory. Its clock stands at noon until a test advances it.
type server struct {
	*httptest.Server
	t      *testing.T
	api    *api.Server
	engine *engine.Engine
	store  *faulty
	failed []error // errors that the server reported as events
	aws    swapped // the transport of requests to AWS

	mu  sync.Mutex
	now time.Time
}

func (s *server) clock() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

func (s *server) advance(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = s.now.Add(d)
}

func (s *server) failures() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.failed)
}

// newServer starts a server. If the function "change" is not nil, it modifies the options first.
func newServer(t *testing.T, change func(*engine.Options, *api.Limits)) *server {
	t.Helper()
	return start(t, change, nil, nil)
}

// newBilledServer starts a server whose store belongs to an account.
func newBilledServer(t *testing.T, account api.Account) *server {
	t.Helper()
	return start(t, nil, nil, func(o *api.Options) { o.Account = account })
}

// newServerBefore starts a server after the function "prepare" has modified its store.
func newServerBefore(t *testing.T, prepare func(*faulty)) *server {
	t.Helper()
	return start(t, nil, prepare, nil)
}

func start(t *testing.T, change func(*engine.Options, *api.Limits), prepare func(*faulty), alter func(*api.Options)) *server {
	t.Helper()
	s := &server{t: t, now: noon}
	s.store = &faulty{Store: mem.New(s.clock)}
	if prepare != nil {
		prepare(s.store)
	}
	o, limits := engine.Options{Store: s.store, Holder: "test", Now: s.clock}, api.Limits{}
	if change != nil {
		change(&o, &limits)
	}
	var err error
	if s.engine, err = engine.Open(context.Background(), o); err != nil {
		t.Fatal(err)
	}
	options := api.Options{
		Console: console.Handler,
		Verify:  func(context.Context, api.Verification) error { return nil },
		Router:  s.engine.Router, Query: s.engine.Query, Rotator: s.engine.Rotator, Lifecycle: s.engine.Store, Tables: s.engine.Store, Streams: s.engine.Streams,
		Keys: s.engine.Keys, Devices: s.engine.Devices, Logs: s.engine.Logs, Rejects: s.engine.Rejects, Alerts: s.engine.Alerts, Items: s.engine.Store, Changes: s.engine.Changes, Rollups: s.engine.Rollups, Receipts: receipts.NewKeyring(s.engine.Store, ""), Aggregator: s.engine.Aggregator,
		Conditions: s.engine.Conditions, Now: s.clock, Version: "v1.2.3", Metrics: prometheus.NewRegistry(), Limits: limits,
		Erasures: api.Erasures{Eraser: s.engine.Erasures, Begin: s.engine.BeginErasure},
		AWS:      api.AWS{Firehose: true, IoTAccounts: []string{"123456789012"}, Client: &http.Client{Transport: &s.aws}},
		Events: api.Events{Failed: func(_ *http.Request, err error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.failed = append(s.failed, err)
		}},
	}
	if alter != nil {
		alter(&options)
	}
	s.api = api.New(options)
	s.Server = httptest.NewServer(s.api)
	t.Cleanup(func() {
		s.Close()
		if err := s.engine.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// reply is an answer of the server, read to its end.
type reply struct {
	t       *testing.T
	status  int
	header  http.Header
	trailer http.Header
	body    string
}

// send sends a request. In head, names and values of headers alternate.
func (s *server) send(method, path, body string, head ...string) *reply {
	s.t.Helper()
	return s.sendReader(method, path, strings.NewReader(body), head...)
}

func (s *server) sendReader(method, path string, body io.Reader, head ...string) *reply {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), method, s.URL+path, body)
	if err != nil {
		s.t.Fatal(err)
	}
	for i := 0; i < len(head); i += 2 {
		req.Header.Set(head[i], head[i+1])
	}
	client := http.Client{
		Transport:     &http.Transport{DisableCompression: true, DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	resp, err := client.Do(req)
	if err != nil {
		s.t.Fatalf("%s %s: %v", method, path, err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatalf("%s %s: %v", method, path, err)
	}
	return &reply{t: s.t, status: resp.StatusCode, header: resp.Header, trailer: resp.Trailer, body: string(text)}
}

func (s *server) get(path string, head ...string) *reply {
	s.t.Helper()
	return s.send(http.MethodGet, path, "", head...)
}

// write writes NDJSON to stream weather and expects it all to be stored.
func (s *server) write(lines ...string) {
	s.t.Helper()
	r := s.send(http.MethodPost, writePath, strings.Join(lines, "\n"), "Content-Type", "application/x-ndjson")
	if a := decode[wire.WriteAnswer](r); r.status != http.StatusOK || int(a.Stored) != len(lines) {
		s.t.Fatalf("%d %s", r.status, r.body)
	}
}

func decode[T any](r *reply) (v T) {
	r.t.Helper()
	if err := json.Unmarshal([]byte(r.body), &v); err != nil {
		r.t.Fatalf("status %d, body %.300q: %v", r.status, r.body, err)
	}
	return v
}

// problem expects a problem (RFC 9457) with a status and a parameter, whose body contains the text
// "says". If param is empty, the problem must not name a parameter.
func (r *reply) problem(status int, param, says string) wire.Problem {
	r.t.Helper()
	if r.status != status || r.header.Get("Content-Type") != "application/problem+json" {
		r.t.Fatalf("%d %s %.300q, want a problem of %d", r.status, r.header.Get("Content-Type"), r.body, status)
	}
	p := decode[wire.Problem](r)
	at := ""
	if len(p.Errors) > 0 {
		at = p.Errors[0].Location
	}
	if p.Status != status || p.Title != http.StatusText(status) || at != param || !strings.Contains(r.body, says) {
		r.t.Errorf("%.400s: want status %d, parameter %q, %q", r.body, status, param, says)
	}
	return p
}

const (
	writePath  = "/v1/streams/weather/readings"
	readPath   = "/v1/streams/weather/devices/d1/readings"
	latestPath = "/v1/streams/weather/devices/d1/latest"

	rollupsPath = "/v1/streams/weather/devices/d1/rollups"
)

// good returns a valid reading of device d1 with the given event time.
func good(at time.Time) string {
	return `{"device":"d1","time":"` + at.Format(time.RFC3339Nano) + `","fields":{"a":1}}`
}

// with adds parameters to a path; names and values alternate.
func with(path string, params ...string) string {
	v := url.Values{}
	for i := 0; i < len(params); i += 2 {
		v.Add(params[i], params[i+1])
	}
	return path + "?" + v.Encode()
}

// thisTable returns the table of readings that happen and arrive at noon.
func thisTable(s *server) grid.Table { return tableAt(s.t, noon) }

// tableAt returns the table of readings that have the given event time and arrive at noon.
func tableAt(t *testing.T, at time.Time) grid.Table {
	t.Helper()
	month := grid.MonthOf(noon)
	r, ok := grid.DefaultPolicy().Locate(at, month)
	if !ok {
		t.Fatalf("no table for %s", at)
	}
	return grid.Table{Prefix: "varve", Range: r, Month: month}
}

// describedRequest returns the address and the body with which parameters of an operation are tested.
// It sets the values that only this operation accepts.
func describedRequest(base, template, method string, values map[string]string) (address, body string) {
	values["format"] = "json"
	delete(values, "get state")
	delete(values, "get window")
	switch {
	case template == "/v1/device-health":
		values["get window"], values["get sort"] = "7d", "lag"
	case template == "/v1/alert-rules/preview":
		body = `{"stream":"weather","field":"a","comparison":">","threshold":1,"severity":"info"}`
	case strings.HasSuffix(base, "/deliveries?"):
		values["get state"] = "pending"
	case template == "/v1/readings":
		base, body, values["format"] = base+"format=line&", "weather,device=d1 a=1", "line"
	case (strings.HasSuffix(base, "/readings?") || strings.HasPrefix(base, "/v1/aws/iot/")) && method == "post":
		body = good(noon)
	case strings.HasSuffix(base, "/digests?") && method == "post":
		body = `{"period":"daily","spans":[{"from":"2026-11-18T00:00:00Z","digests":[""]}]}`
	case strings.HasSuffix(base, "/calendar?") && method == "post":
		body = policyBody
	case method == "put":
		body = `{"reason":"audit"}`
	case strings.HasSuffix(base, "/why?"):
		base += "time=now&"
	case strings.HasSuffix(base, "/aggregate?"):
		base += "step=1d&"
	case strings.HasSuffix(base, "/rollups?") && method == "get":
		base += "period=daily&"
	}
	return base, body
}
