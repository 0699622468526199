package api_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/varvedb/varve/api"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/engine"
	"github.com/varvedb/varve/store/mem"
)

func newVerifying(t *testing.T, verify api.Verifier) *api.Server {
	t.Helper()
	return newOperated(t, verify, nil)
}

func newOperated(t *testing.T, verify api.Verifier, snapshot api.Snapshotter) *api.Server {
	t.Helper()
	e, err := engine.Open(t.Context(), engine.Options{Store: mem.New(nil), Holder: "test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return api.New(api.Options{
		Verify: verify, Snapshot: snapshot, Router: e.Router, Query: e.Query, Rotator: e.Rotator, Lifecycle: e.Store, Tables: e.Store, Streams: e.Streams, Keys: e.Keys,
		Devices: e.Devices, Logs: e.Logs, Alerts: e.Alerts, Items: e.Store, Rollups: e.Rollups, Aggregator: e.Aggregator, Conditions: e.Conditions, Now: e.Now, Version: "v1", Metrics: prometheus.NewRegistry(),
	})
}

func verify(ctx context.Context, s *api.Server) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, "http://localhost/v1/verify", nil)
	s.ServeHTTP(w, r)
	return w
}

// TestVerify_ContinuesWhileItMakesProgress checks that a verification may take any time, reports
// its progress, and ends when it is stuck.
func TestVerify_ContinuesWhileItMakesProgress(t *testing.T) {
	for _, row := range []struct {
		name        string
		every, most time.Duration // the time between two steps, and the duration of all steps
		last        string
		lines       int // minimum number of lines in the answer
	}{
		{"a day, a step a minute", time.Minute, 24 * time.Hour, `{"done":true}`, 24 * 60},
		{"a minute, a step a millisecond", time.Millisecond, time.Minute, `{"done":true}`, 60 / 5},
		{"stuck", 16 * time.Minute, time.Hour, `{"error":"the verification made no progress: start it again"}`, 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newVerifying(t, func(ctx context.Context, v api.Verification) error {
					for at := row.every; at <= row.most; at += row.every {
						select {
						case <-ctx.Done():
							return ctx.Err()
						case <-time.After(row.every):
							v.Read(int64(at))
						}
					}
					return nil
				})
				w := verify(t.Context(), s)
				lines := strings.Split(strings.TrimSpace(w.Body.String()), "\n")
				if w.Code != http.StatusOK || len(lines) < row.lines || len(lines) > 2*row.lines || lines[len(lines)-1] != row.last {
					t.Errorf("%d, %d lines, the last is %s", w.Code, len(lines), lines[len(lines)-1])
				}
				if row.lines > 1 && !strings.HasPrefix(lines[0], `{"read":`) {
					t.Errorf("the first line is %s", lines[0])
				}
			})
		})
	}
}

// TestVerify_EndsWithoutClient checks that a verification ends when its client disconnects or
// the server stops, and that only one runs at a time.
func TestVerify_EndsWithoutClient(t *testing.T) {
	for name, end := range map[string]func(*api.Server, context.CancelFunc){
		"the client goes":  func(_ *api.Server, gone context.CancelFunc) { gone() },
		"the server stops": func(s *api.Server, _ context.CancelFunc) { s.Drain() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begun := make(chan bool, 1)
				s := newVerifying(t, func(ctx context.Context, v api.Verification) error {
					begun <- true
					v.Found(wire.Damage{Place: "a"})
					<-ctx.Done()
					return ctx.Err()
				})
				ctx, gone := context.WithCancel(t.Context())
				defer gone()
				answer := make(chan *httptest.ResponseRecorder, 1)
				go func() { answer <- verify(ctx, s) }()
				<-begun
				if w := verify(t.Context(), s); w.Code != http.StatusConflict || !strings.Contains(w.Body.String(), "under way") {
					t.Errorf("a second one is answered with %d %s", w.Code, w.Body)
				}
				end(s, gone)
				w := <-answer
				if got := w.Body.String(); !strings.HasPrefix(got, `{"damage":{"place":"a"`) || !strings.Contains(got, "\n"+`{"error":`) {
					t.Errorf("%s", got)
				}
				if strings.Contains(name, "server") != strings.Contains(w.Body.String(), "the server stops") {
					t.Errorf("%s", w.Body)
				}
			})
		})
	}
}

// deaf is the connection of a client that reads nothing after the head of the answer.
type deaf struct{ *httptest.ResponseRecorder }

func (deaf) Write([]byte) (int, error) { return 0, errors.New("write timed out") }

// TestVerify_EndsWhenClientTakesNothing checks that a client that reads no lines does not block the
// verifications of others.
func TestVerify_EndsWhenClientTakesNothing(t *testing.T) {
	s := newVerifying(t, func(ctx context.Context, v api.Verification) error {
		v.Found(wire.Damage{Place: "a"})
		<-ctx.Done()
		return ctx.Err()
	})
	for range 2 {
		w := deaf{httptest.NewRecorder()}
		s.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost/v1/verify", nil))
	}
}
