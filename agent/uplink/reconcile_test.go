package uplink_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/varvedb/varve/agent/outbox"
	"github.com/varvedb/varve/agent/uplink"
	"github.com/varvedb/varve/api"
	"github.com/varvedb/varve/api/client"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/engine"
	"github.com/varvedb/varve/store/mem"
)

const keep = 24 * time.Hour

// loser is a transport to a real server. The server acknowledges each reading. If the text of a reading contains
// an element of lost, the server loses the reading when it arrives for the first time.
type loser struct {
	handler http.Handler
	lost    []string
	seen    map[string]bool
	// intercept, if set, may answer a request in place of the server.
	intercept atomic.Pointer[func(r *http.Request) *http.Response]
	mu        sync.Mutex
	writes    []string     // texts of written bodies; guarded by mu
	compares  atomic.Int64 // number of requests for a comparison
}

func (l *loser) written() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.writes)
}

func (l *loser) RoundTrip(r *http.Request) (*http.Response, error) {
	isWrite := r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/readings")
	if strings.HasSuffix(r.URL.Path, "/digests") {
		l.compares.Add(1)
	}
	if intercept := l.intercept.Load(); intercept != nil {
		if answer := (*intercept)(r); answer == cut {
			return nil, errors.New("the connection was cut")
		} else if answer != nil {
			return answer, nil
		}
	}
	taken := int64(0)
	if isWrite {
		zipped, err := gzip.NewReader(r.Body)
		if err != nil {
			return nil, err
		}
		text, err := io.ReadAll(zipped)
		if err != nil {
			return nil, err
		}
		l.mu.Lock()
		l.writes = append(l.writes, string(text))
		l.mu.Unlock()
		var rest []string
		for line := range strings.Lines(string(text)) {
			if l.loses(line) {
				taken++
			} else {
				rest = append(rest, line)
			}
		}
		r = r.Clone(r.Context())
		r.Header.Del("Content-Encoding")
		r.Body = io.NopCloser(strings.NewReader(strings.Join(rest, "")))
	}
	w := httptest.NewRecorder()
	l.handler.ServeHTTP(w, r)
	if isWrite {
		var answer wire.WriteAnswer
		if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil {
			return nil, err
		}
		answer.Stored += taken
		return reply(w.Code, answer), nil
	}
	return w.Result(), nil
}

// cut is a result of intercept: the client gets an error instead of an answer.
var cut = &http.Response{}

func (l *loser) loses(line string) bool {
	for _, word := range l.lost {
		if strings.Contains(line, word) && !l.seen[line] {
			l.seen[line] = true
			return true
		}
	}
	return false
}

func reply(status int, body any) *http.Response {
	text, err := json.Marshal(body)
	if err != nil {
		panic(err)
	}
	return &http.Response{StatusCode: status, Status: http.StatusText(status), Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(text))}
}

// gateway is a sender between an outbox and a server that loses readings, in a bubble of synctest.
type gateway struct {
	server  *loser
	client  *client.Client
	dir     string
	box     *outbox.Outbox
	options uplink.Options
	runs    []uplink.Reconciliation
	failed  []string
	stop    func()
}

// withGateway calls test with a gateway, in a bubble of synctest.
func withGateway(t *testing.T, change func(*uplink.Options), test func(t *testing.T, g *gateway)) {
	t.Helper()
	withOutbox(t, outbox.Options{Keep: keep}, change, test)
}

// withOutbox is like withGateway, with the given options of the outbox.
func withOutbox(t *testing.T, box outbox.Options, change func(*uplink.Options), test func(t *testing.T, g *gateway)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		e, err := engine.Open(t.Context(), engine.Options{Store: mem.New(time.Now), Now: time.Now})
		if err != nil {
			t.Fatal(err)
		}
		g := &gateway{dir: t.TempDir(), server: &loser{seen: map[string]bool{}, handler: api.New(api.Options{
			Router: e.Router, Query: e.Query, Rotator: e.Rotator, Lifecycle: e.Store, Tables: e.Store, Streams: e.Streams,
			Devices: e.Devices, Logs: e.Logs, Alerts: e.Alerts, Items: e.Store, Now: e.Now, Metrics: prometheus.NewRegistry(),
		})}}
		if g.client, err = client.New("http://127.0.0.1", client.WithRetries(0), client.WithHTTPClient(&http.Client{Transport: g.server})); err != nil {
			t.Fatal(err)
		}
		box.Dir, box.MaxBytes = g.dir, 16<<20
		if g.box, err = outbox.Open(box); err != nil {
			t.Fatal(err)
		}
		g.options = uplink.Options{Outbox: g.box, Client: g.client, Events: uplink.Events{
			Reconciled: func(r *uplink.Reconciliation) { g.runs = append(g.runs, *r) },
			Failed:     func(err error, _ time.Duration) { g.failed = append(g.failed, err.Error()) },
		}}
		if change != nil {
			change(&g.options)
		}
		g.start(t)
		defer func() {
			g.stop()
			if err := errors.Join(g.box.Close(), e.Close()); err != nil {
				t.Error(err)
			}
		}()
		test(t, g)
	})
}

// start starts a sender. The function "stop" ends it.
func (g *gateway) start(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		uplink.New(g.options).Run(ctx)
		close(ended)
	}()
	g.stop = func() { cancel(); <-ended }
}

// append appends a reading of each device, with the present as its event time.
func (g *gateway) append(t *testing.T, devices, number int) {
	t.Helper()
	g.appendTo(t, "s", devices, number)
}

func (g *gateway) appendTo(t *testing.T, stream string, devices, number int) {
	t.Helper()
	var text []byte
	for d := range devices {
		text = fmt.Appendf(text, `{"device":"d%d","time":"%s","fields":{"n":%d}}`+"\n", d, time.Now().UTC().Format(time.RFC3339), number)
	}
	if err := g.box.Append(t.Context(), []outbox.Record{{Stream: stream, Readings: devices, Lines: text}}); err != nil {
		t.Fatal(err)
	}
}

// wait advances the fake clock by d. It returns when all other goroutines are blocked.
func wait(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func (g *gateway) total() (all uplink.Reconciliation) {
	for _, r := range g.runs {
		all.Series += r.Series
		all.Readings += r.Readings
		all.Uncompared += r.Uncompared
		all.Resent.Add(r.Resent)
	}
	return all
}

// wantStored checks the number of readings of each device on the server.
func (g *gateway) wantStored(t *testing.T, devices, want int) {
	t.Helper()
	for d := range devices {
		n := 0
		for _, err := range g.client.Readings(t.Context(), client.Query{Stream: "s", Device: fmt.Sprint("d", d), Consistent: true}, nil) {
			if err != nil {
				t.Fatal(err)
			}
			n++
		}
		if n != want {
			t.Errorf("device d%d has %d readings, want %d", d, n, want)
		}
	}
}

// TestReconcile_ResendsOnlyHoursThatDiffer sends a reading of 3 devices every ten minutes for two days. The
// server loses two readings. Exactly the two hours of these readings must be resent, although some hours
// are in several segments.
func TestReconcile_ResendsOnlyHoursThatDiffer(t *testing.T) {
	const ticks, rest = 2 * 24 * 6, 40 * time.Hour
	for name, c := range map[string]struct {
		lost []string
		want wire.Tally
	}{
		"nothing lost":      {nil, wire.Tally{}},
		"two readings lost": {[]string{`"d0","time":"2000-01-01T03:25`, `"d2","time":"2000-01-02T13:15`}, wire.Tally{Stored: 2, Duplicates: 10}},
	} {
		t.Run(name, func(t *testing.T) {
			withGateway(t, nil, func(t *testing.T, g *gateway) {
				g.server.lost = c.lost
				wait(25 * time.Minute) // so that segments do not end at full hours
				for n := range ticks {
					g.append(t, 3, n)
					wait(10 * time.Minute)
				}
				wait(rest)
				all := g.total()
				if all.Resent != c.want || all.Readings != 3*ticks || all.Uncompared != 0 || len(g.runs) < 8 || len(g.runs) > 20 {
					t.Errorf("%d runs: %+v, want %+v of %d compared readings", len(g.runs), all, c.want, 3*ticks)
				}
				if s := g.box.Stats(); s.Readings != 0 || s.Uncompared != 0 || s.KeptReadings > 3*6*6 {
					t.Errorf("%+v, want at most the segments of the last comparison", s)
				}
				g.wantStored(t, 3, ticks)
				if len(g.failed) > 0 {
					t.Errorf("%q", g.failed)
				}
			})
		})
	}
}

// bodyOf returns the text of a write, and leaves it in the request.
func bodyOf(r *http.Request) string {
	zipped, err := io.ReadAll(r.Body)
	if err != nil {
		panic(err)
	}
	r.Body = io.NopCloser(bytes.NewReader(zipped))
	in, err := gzip.NewReader(bytes.NewReader(zipped))
	if err != nil {
		panic(err)
	}
	text, err := io.ReadAll(in)
	if err != nil {
		panic(err)
	}
	return string(text)
}
