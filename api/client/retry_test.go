package client_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/client"
	"github.com/varvedb/varve/api/wire"
)

// answer is one answer of the server, or an error instead of it.
type answer struct {
	status int
	media  string
	body   string
	after  string // value of the header Retry-After
	err    error
}

// script is a transport that returns the answers one after another, and then repeats the last one. It
// records the requests.
type script struct {
	answers []answer
	bodies  []string
	at      []time.Time
	paths   []string
	keys    []string
}

func (s *script) RoundTrip(r *http.Request) (*http.Response, error) {
	a := s.answers[min(len(s.at), len(s.answers)-1)]
	s.at = append(s.at, time.Now())
	s.keys = append(s.keys, r.Header.Get("Authorization"))
	s.paths = append(s.paths, r.Method+" "+r.URL.RequestURI())
	if r.Body != nil {
		text, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		s.bodies = append(s.bodies, string(text))
	}
	if a.err != nil {
		return nil, a.err
	}
	h := http.Header{"Content-Type": {a.media}}
	if a.after != "" {
		h.Set("Retry-After", a.after)
	}
	return &http.Response{
		StatusCode: a.status, Status: http.StatusText(a.status), Header: h, Body: io.NopCloser(strings.NewReader(a.body)), Request: r,
	}, nil
}

func (s *script) client(t *testing.T, opts ...client.Option) *client.Client {
	t.Helper()
	c, err := client.New("http://varve.test", append([]client.Option{client.WithHTTPClient(&http.Client{Transport: s})}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func problem(status int, detail, after string) answer {
	return answer{status: status, media: "application/problem+json", body: `{"title":"x","status":1,"detail":"` + detail + `"}`, after: after}
}

var (
	errReset = errors.New("connection reset")
	stored   = answer{status: 200, media: "application/json", body: `{"stored":1,"rejects":[]}`}
)

// TestRetry_FollowsFailure checks that a call is retried if the server was busy or unreachable, and
// not if the same call would fail the same way. The number of retries can be set.
func TestRetry_FollowsFailure(t *testing.T) {
	rows := []struct {
		why     string
		answers []answer
		tries   int
		failure varve.Failure
		ok      bool
	}{
		{"busy once", []answer{problem(429, "busy", "1"), stored}, 2, 0, true},
		{"away twice", []answer{problem(503, "away", "1"), problem(503, "away", ""), stored}, 3, 0, true},
		{"no connection", []answer{{err: errReset}, stored}, 2, 0, true},
		{"a gateway's page", []answer{{status: 502, media: "text/html", body: "<html>"}, {status: 504, media: "text/html"}, stored}, 3, 0, true},
		{"none was stored for now", []answer{{status: 503, media: "application/json", body: `{"stored":0,"rejected":1,"rejects":[{"code":"unavailable"}]}`}, stored}, 2, 0, true},
		{"busy for ever", []answer{problem(429, "busy", "1")}, 4, varve.Busy, false},
		{"no connection for ever", []answer{{err: errReset}}, 4, varve.Internal, false},
		{"invalid", []answer{problem(400, "no", ""), stored}, 1, varve.Invalid, false},
		{"too large", []answer{problem(413, "long", ""), stored}, 1, varve.Invalid, false},
		{"not found", []answer{problem(404, "none", ""), stored}, 1, varve.NotFound, false},
		{"conflict", []answer{problem(409, "held", ""), stored}, 1, varve.Conflict, false},
		{"a fault", []answer{problem(500, "fault", ""), stored}, 1, varve.Internal, false},
		{"not found, by something else", []answer{{status: 404, media: "text/html", body: "<html>"}, stored}, 1, varve.NotFound, false},
		{"forbidden, by something else", []answer{{status: 403, media: "text/plain", body: "no"}, stored}, 1, varve.Forbidden, false},
		{"no valid key", []answer{problem(401, "key", ""), stored}, 1, varve.Forbidden, false},
	}
	for _, row := range rows {
		synctest.Test(t, func(t *testing.T) {
			s := &script{answers: row.answers}
			a, err := s.client(t, client.WithRetries(3)).Write(t.Context(), "weather", client.Body{Data: []byte("{}"), Format: wire.JSON})
			if len(s.at) != row.tries || (err == nil) != row.ok || row.ok && a.Stored != 1 {
				t.Errorf("%s: %d tries, %v", row.why, len(s.at), err)
			}
			if !row.ok && varve.FailureOf(err) != row.failure {
				t.Errorf("%s: failure %d, want %d: %v", row.why, varve.FailureOf(err), row.failure, err)
			}
			for _, body := range s.bodies { // each try sends the whole body
				if body != "{}" {
					t.Errorf("%s: sent %q", row.why, body)
				}
			}
		})
	}
}

// TestRetry_WaitsAsRequested checks that the client waits as long as the server requests. Without
// such a request, it waits longer with each attempt. A client without retries does not wait.
func TestRetry_WaitsAsRequested(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{answers: []answer{problem(429, "busy", "7"), problem(503, "away", ""), problem(503, "away", ""), stored}}
		if _, err := s.client(t).Write(t.Context(), "weather", client.Body{Format: wire.JSON}); err != nil {
			t.Fatal(err)
		}
		bounds := []struct{ least, most time.Duration }{{7 * time.Second, 8 * time.Second}, {200 * time.Millisecond, 400 * time.Millisecond}, {400 * time.Millisecond, 800 * time.Millisecond}}
		for i, b := range bounds {
			if wait := s.at[i+1].Sub(s.at[i]); wait < b.least || wait > b.most {
				t.Errorf("waited %s, want %s to %s", wait, b.least, b.most)
			}
		}
		s = &script{answers: []answer{problem(429, "busy", "7")}}
		begin := time.Now()
		_, err := s.client(t, client.WithRetries(0)).Tables(t.Context())
		var e *varve.Error
		if !errors.As(err, &e) || e.RetryAfter != 7*time.Second || len(s.at) != 1 || time.Since(begin) != 0 {
			t.Errorf("%v after %s", err, time.Since(begin))
		}
	})
}

// TestRetry_EndsWithContext checks that a call that waits for a retry ends with its context. The error must
// have the server's last error. A call with an ended context must not be retried.
func TestRetry_EndsWithContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{answers: []answer{problem(429, "busy", "3600")}}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		begin := time.Now()
		_, err := s.client(t).Tables(ctx)
		if varve.FailureOf(err) != varve.Busy || time.Since(begin) != time.Second || len(s.at) != 1 {
			t.Errorf("%v after %s, %d tries", err, time.Since(begin), len(s.at))
		}
		s = &script{answers: []answer{{err: context.DeadlineExceeded}}}
		if _, err := s.client(t).Tables(ctx); !errors.Is(err, context.DeadlineExceeded) || len(s.at) > 1 {
			t.Errorf("%v, %d tries", err, len(s.at))
		}
	})
}

// TestIncompleteAnswer_IsError checks that an incomplete answer is an error, and is not retried. Its
// complete readings may be returned before the error.
func TestIncompleteAnswer_IsError(t *testing.T) {
	one := `{"time":"2026-01-01T00:00:00Z","id":"x","arrived":"2026-01-01T00:00:01Z","fields":{"a":1}}` + "\n"
	for _, rest := range []string{one[:20], "x\n", `{"problem":1}`, ""} { // with an empty rest, the answer lacks only its trailers
		s := &script{answers: []answer{{status: 200, media: "application/x-ndjson", body: one + rest}}}
		var got int
		var last error
		for r, err := range s.client(t).Readings(t.Context(), client.Query{Stream: "weather", Device: "d1"}, nil) {
			if last = err; err == nil {
				got++
				if r.ID.String() != "x" {
					t.Error(r)
				}
			}
		}
		if last == nil || got > 1 {
			t.Errorf("%q: %d readings, %v", rest, got, last)
		}
	}
	s := &script{answers: []answer{{status: 200, media: "application/json", body: `{"tables":[`}}}
	if _, err := s.client(t).Tables(t.Context()); err == nil || !strings.Contains(err.Error(), "/v1/tables") || len(s.at) != 1 {
		t.Errorf("%v, %d tries", err, len(s.at))
	}
}

func TestServer_AcceptsAddresses(t *testing.T) {
	for _, text := range []string{"", "localhost:8278", "127.0.0.1", "ftp://x", "http://", "//x", "http://a b", "::"} {
		if _, err := client.New(text); err == nil || !strings.Contains(err.Error(), client.DefaultServer) {
			t.Errorf("%q: %v", text, err)
		}
	}
	for text, want := range map[string]string{"http://x": "GET /v1/tables", "https://x/": "GET /v1/tables", "http://x/varve/": "GET /varve/v1/tables"} {
		s := &script{answers: []answer{{status: 200, media: "application/json", body: `{}`}}}
		c, err := client.New(text, client.WithHTTPClient(&http.Client{Transport: s}))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Tables(t.Context()); err != nil || s.paths[0] != want {
			t.Errorf("%s: %v, %v", text, s.paths, err)
		}
	}
}

func TestUntrustedServer_IsCalledOnce(t *testing.T) {
	s := &script{answers: []answer{{err: &tls.CertificateVerificationError{Err: errors.New("unknown authority")}}}}
	_, err := s.client(t).Tables(t.Context())
	if err == nil || len(s.at) != 1 || !strings.Contains(err.Error(), "is not trusted") {
		t.Errorf("%d tries: %v", len(s.at), err)
	}
}

// TestKey_IsSentAndHidden checks that every call sends the key, and no error contains it.
func TestKey_IsSentAndHidden(t *testing.T) {
	s := &script{answers: []answer{{status: 401, media: "application/problem+json", body: `{"status":401,"detail":"a valid key, please"}`}}}
	c := s.client(t, client.WithKey("vk_abcdefgh_hidden"))
	for range 2 {
		if _, err := c.Tables(t.Context()); varve.FailureOf(err) != varve.Forbidden || strings.Contains(err.Error(), "hidden") {
			t.Errorf("%v", err)
		}
	}
	if got := s.keys; len(got) != 2 || got[0] != "Bearer vk_abcdefgh_hidden" || got[1] != got[0] {
		t.Errorf("sent %q", got)
	}
	for _, bad := range []string{"q z", "q\n", "ä"} {
		if _, err := client.New("http://localhost", client.WithKey(bad)); err == nil || strings.Contains(err.Error(), bad) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// TestCreateKey_IsNotRetried checks that a lost answer does not lead to a second key.
func TestCreateKey_IsNotRetried(t *testing.T) {
	s := &script{answers: []answer{{err: io.ErrUnexpectedEOF}, {status: 200, media: "application/json", body: `{"key":"x"}`}}}
	if _, err := s.client(t).CreateKey(t.Context(), wire.KeyDraft{Scopes: []string{"read"}}); err == nil || len(s.at) != 1 {
		t.Errorf("%d tries: %v", len(s.at), err)
	}
}

// TestRetry_OfDeletion checks that a retried deletion succeeds if the object is missing after a lost
// answer. If the first try finds no object, or no earlier try may have deleted it, the error is
// NotFound.
func TestRetry_OfDeletion(t *testing.T) {
	missing := problem(404, "none", "")
	for _, row := range []struct {
		why     string
		answers []answer
		failure varve.Failure
		ok      bool
	}{
		{"the answer was lost", []answer{{err: errReset}, missing}, 0, true},
		{"a gateway had no answer", []answer{{status: 504, media: "text/html"}, problem(429, "busy", ""), missing}, 0, true},
		{"the first try", []answer{missing}, varve.NotFound, false},
		{"after a refusal", []answer{problem(429, "busy", ""), missing}, varve.NotFound, false},
	} {
		synctest.Test(t, func(t *testing.T) {
			for name, call := range map[string]func(*client.Client) error{
				"device": func(c *client.Client) error { return c.DeleteDevice(t.Context(), "d") },
				"rule":   func(c *client.Client) error { return c.DeleteRule(t.Context(), "r") },
			} {
				s := &script{answers: row.answers}
				if err := call(s.client(t)); (err == nil) != row.ok || !row.ok && varve.FailureOf(err) != row.failure {
					t.Errorf("%s, %s: %v", name, row.why, err)
				}
			}
			s := &script{answers: row.answers}
			if _, err := s.client(t).RevokeKey(t.Context(), "k"); varve.FailureOf(err) != varve.NotFound {
				t.Errorf("%s: another call: %v, want NotFound", row.why, err)
			}
		})
	}
}
