package agent_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/varvedb/varve/agent"
)

type endless struct {
	r    *http.Request
	wait time.Duration // time before each byte
	sent int
}

func (e *endless) Read(p []byte) (int, error) {
	if e.wait > 0 {
		select {
		case <-time.After(e.wait):
		case <-e.r.Context().Done():
			return 0, e.r.Context().Err()
		}
	}
	e.sent++
	p[0] = ' '
	return 1, nil
}

func (e *endless) Close() error { return nil }

type transport func(r *http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestLimitAnswers_EndsEndlessAnswers reads answers that never end. Reading must fail after 1,000 bytes
// or five minutes.
func TestLimitAnswers_EndsEndlessAnswers(t *testing.T) {
	for name, wait := range map[string]time.Duration{"long": 0, "slow": time.Second, "silent": time.Hour} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var body *endless
				limited := agent.LimitAnswers(transport(func(r *http.Request) (*http.Response, error) {
					body = &endless{r: r, wait: wait}
					return &http.Response{Body: body}, nil
				}), 1000)
				begun := time.Now()
				answer, err := limited.RoundTrip(httptest.NewRequest(http.MethodPost, "http://127.0.0.1", http.NoBody))
				if err != nil {
					t.Fatal(err)
				}
				_, err = io.ReadAll(answer.Body)
				if took := time.Since(begun); err == nil || body.sent > 1000 || took > 5*time.Minute {
					t.Errorf("%d bytes within %s: %v", body.sent, took, err)
				}
				if err := answer.Body.Close(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestLimitAnswers_PreservesShortAnswers reads an answer that is shorter than the limit.
// Its text must be complete.
func TestLimitAnswers_PreservesShortAnswers(t *testing.T) {
	text := strings.Repeat("x", 1000)
	limited := agent.LimitAnswers(transport(func(*http.Request) (*http.Response, error) {
		return &http.Response{Body: io.NopCloser(strings.NewReader(text))}, nil
	}), 1001)
	answer, err := limited.RoundTrip(httptest.NewRequest(http.MethodPost, "http://127.0.0.1", http.NoBody))
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(answer.Body)
	if err = errors.Join(err, answer.Body.Close()); err != nil || string(got) != text {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

// TestAgent_SurvivesEndlessAnswer sends to a server whose answers have 64 MiB. The agent must read less
// than half of one.
func TestAgent_SurvivesEndlessAnswer(t *testing.T) {
	longest := make(chan int, 100)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, err := w.Write([]byte(`{"detail":"`))
		part, sent := bytes.Repeat([]byte("x"), 64<<10), 0
		for ; err == nil && sent < 64<<20; sent += len(part) {
			_, err = w.Write(part)
		}
		select {
		case longest <- sent:
		default:
		}
	}))
	defer server.Close()
	a := startAgent(t, server.URL, nil)
	if status, answer := post(t, a.URL()+"/v1/streams/s/readings", ndjson, `{"device":"d","time":"2026-01-01T00:00:00Z","fields":{"a":1}}`); status != http.StatusOK {
		t.Fatal(status, answer)
	}
	if sent := <-longest; sent > 32<<20 {
		t.Errorf("the agent read %d bytes", sent)
	}
}
