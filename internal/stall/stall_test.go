package stall_test

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/varvedb/varve/internal/stall"
)

// serve starts a server of HTTP/1 or HTTP/2, and returns its address and a client.
func serve(t *testing.T, http2 bool, limit time.Duration, handle http.HandlerFunc) (string, *http.Client) {
	t.Helper()
	s := httptest.NewUnstartedServer(stall.Handler(handle, stall.Limits{Stall: limit, Body: time.Minute}))
	s.Config.ConnState = func(c net.Conn, state http.ConnState) {
		if tcp, ok := c.(*net.TCPConn); ok && state == http.StateNew {
			_ = tcp.SetWriteBuffer(4096) // so that an answer soon waits for its client
		}
	}
	if s.EnableHTTP2 = http2; http2 {
		s.StartTLS()
	} else {
		s.Start()
	}
	t.Cleanup(s.Close)
	return s.URL, s.Client()
}

var versions = map[string]bool{"HTTP/1.1": false, "HTTP/2.0": true}

// TestAnswer_IsCutOffWithoutReader checks that the handler of a long answer returns although its client
// reads nothing.
func TestAnswer_IsCutOffWithoutReader(t *testing.T) {
	for version, http2 := range versions {
		failed := make(chan error, 1)
		url, client := serve(t, http2, 500*time.Millisecond, func(w http.ResponseWriter, _ *http.Request) {
			_, err := w.Write(make([]byte, 64<<20))
			failed <- err
		})
		resp, err := client.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		if resp.Proto != version {
			t.Errorf("%s, want %s", resp.Proto, version)
		}
		select {
		case err := <-failed:
			if err == nil {
				t.Errorf("%s: no error", version)
			}
		case <-time.After(20 * time.Second):
			t.Errorf("%s: the handler still writes", version)
		}
		resp.Body.Close()
	}
}

// TestPauses_AreNotLimited checks that a handler may take longer than a client may stall, between
// two parts of the body and between two parts of the answer.
func TestPauses_AreNotLimited(t *testing.T) {
	const limit = 500 * time.Millisecond
	pause := func() { <-time.After(limit * 3 / 2) }
	for version, http2 := range versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			url, client := serve(t, http2, limit, func(w http.ResponseWriter, r *http.Request) {
				part := make([]byte, 1000)
				_, err := io.ReadFull(r.Body, part)
				pause()
				if err == nil {
					_, err = io.ReadFull(r.Body, part)
				}
				if err != nil {
					t.Errorf("read the body: %v", err)
				}
				_, err = w.Write(part)
				err = errors.Join(err, http.NewResponseController(w).Flush())
				pause()
				if err == nil {
					_, err = w.Write(part)
				}
				if err != nil {
					t.Errorf("write the answer: %v", err)
				}
				pause()
			})
			resp, err := client.Post(url, "text/plain", strings.NewReader(strings.Repeat("x", 5000)))
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			text, err := io.ReadAll(resp.Body)
			if err != nil || len(text) != 2000 {
				t.Errorf("%d bytes, %v; want 2000", len(text), err)
			}
		})
	}
}

// TestStalledBody_FailsRead checks that a read fails if the client stalls. The server must answer
// without the rest of the body.
func TestStalledBody_FailsRead(t *testing.T) {
	for version, http2 := range versions {
		url, client := serve(t, http2, 500*time.Millisecond, func(w http.ResponseWriter, r *http.Request) {
			text, err := io.ReadAll(r.Body)
			if string(text) != "begin" || !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("%s: %q, %v; want the begin of the body and a deadline", version, text, err)
			}
			_ = r.Body.Close()
			w.WriteHeader(http.StatusRequestTimeout)
		})
		in, out := io.Pipe()
		go func() { _, _ = out.Write([]byte("begin")) }()
		resp, err := client.Post(url, "text/plain", in)
		if err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode != http.StatusRequestTimeout {
			t.Errorf("%s: %d, want %d", version, resp.StatusCode, http.StatusRequestTimeout)
		}
		resp.Body.Close()
		out.Close()
	}
}

// TestUnreadBody_IsDiscardedInTime checks that a handler that closes a body does not wait for its rest
// longer than a client may stall.
func TestUnreadBody_IsDiscardedInTime(t *testing.T) {
	for version, http2 := range versions {
		closed := make(chan struct{})
		url, client := serve(t, http2, 500*time.Millisecond, func(_ http.ResponseWriter, r *http.Request) {
			if _, err := io.ReadFull(r.Body, make([]byte, 5)); err != nil {
				t.Errorf("%s: %v", version, err)
			}
			_ = r.Body.Close()
			close(closed)
		})
		in, out := io.Pipe()
		go func() { _, _ = out.Write([]byte("begin")) }()
		go func() {
			if resp, err := client.Post(url, "text/plain", in); err == nil {
				resp.Body.Close()
			}
		}()
		select {
		case <-closed:
		case <-time.After(20 * time.Second):
			t.Errorf("%s: the handler still waits", version)
		}
		out.Close()
	}
}
