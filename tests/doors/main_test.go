// Package doors tests Varve with the clients, brokers and programs that users have.
//
// Each client of line protocol writes ten points through a proxy that fails as networks do. The
// test compares the stored readings with the client's own report. The script tools.sh fetches the
// programs that the tests need.
package doors

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/varvedb/varve/tests/varvetest"
)

var binary string

func TestMain(m *testing.M) {
	os.Exit(runTests(m)) //nolint:forbidigo // as every TestMain must
}

func runTests(m *testing.M) int {
	dir, err := os.MkdirTemp("", "varve-doors")
	if err != nil {
		log.Print(err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }() // the system deletes files that remain
	binary = filepath.Join(dir, "varve")
	build := exec.Command("go", "build", "-C", filepath.Join("..", ".."), "-o", binary, "./cmd/varve") // the program is in the root module, and not in the module of the tests
	if text, err := build.CombinedOutput(); err != nil {
		log.Printf("go build: %v\n%s", err, text)
		return 1
	}
	return m.Run()
}

// server is a running Varve with API keys.
type server struct {
	*varvetest.Server
	key string
}

func startServer(t *testing.T, args ...string) *server {
	t.Helper()
	v, err := varvetest.Start(context.WithoutCancel(t.Context()), binary, t.TempDir(), args...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := v.Stop(); err != nil {
			t.Error(err)
		}
	})
	s := &server{Server: v}
	status, text := s.call(t, http.MethodPost, "/v1/keys", `{"scopes":["admin","read","write"]}`)
	var made struct{ Key string }
	if err := json.Unmarshal(text, &made); err != nil || status != http.StatusOK || made.Key == "" {
		t.Fatalf("%d %s: %v", status, text, err)
	}
	s.key = made.Key
	return s
}

func (s *server) call(t *testing.T, method, path, body string) (int, []byte) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, s.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	if s.key != "" {
		r.Header.Set("Authorization", "Bearer "+s.key)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(resp.Body)
	if err = errors.Join(err, resp.Body.Close()); err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, text
}

// stored returns the number of readings of device d1 in a stream.
func (s *server) stored(t *testing.T, stream string) int {
	t.Helper()
	status, text := s.call(t, http.MethodGet, "/v1/streams/"+stream+"/devices/d1/readings?format=ndjson", "")
	if status == http.StatusNotFound && (strings.Contains(string(text), "stream "+stream+": not found") || strings.Contains(string(text), "device d1: not found")) {
		return 0 // the first reading creates a stream and a device
	}
	if status != http.StatusOK {
		t.Fatalf("%d %s", status, text)
	}
	return strings.Count(string(text), "\n")
}

// occupy starts a slow write to a server that accepts one write at a time. It returns when the server
// refuses other writes. The slow write ends after d.
func (s *server) occupy(t *testing.T, d time.Duration) {
	t.Helper()
	slow, done := s.startSlowWrite(t)
	isBusy := func() bool {
		select {
		case <-done: // the server refused the slow write, because it was still serving the write below
			slow, done = s.startSlowWrite(t)
		default:
		}
		status, _ := s.call(t, http.MethodPost, "/write?db=x", "")
		return status == http.StatusServiceUnavailable
	}
	if !varvetest.Eventually(isBusy) {
		t.Fatal("the server is not busy")
	}
	end := func() { _ = slow.Close() } // never fails
	timer := time.AfterFunc(d, end)
	t.Cleanup(func() { timer.Stop(); end(); <-done })
}

// startSlowWrite starts a write whose body ends when the pipe is closed. When the request has
// ended, with an answer or without, the channel "done" is closed.
func (s *server) startSlowWrite(t *testing.T) (slow *io.PipeWriter, done chan struct{}) {
	t.Helper()
	body, slow := io.Pipe()
	r, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), http.MethodPost, s.URL+"/v1/streams/slow/readings", body)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+s.key)
	r.Close = true // otherwise a server that refuses the write waits for its body before it answers
	done = make(chan struct{})
	go func() {
		defer close(done)
		if resp, err := http.DefaultClient.Do(r); err == nil {
			_ = resp.Body.Close() // the answer does not matter
		}
	}()
	return slow, done // the write is under way, because the client sends the header before the body has a byte
}

// proxy forwards requests to a server. It can cut the connection after a request was served.
type proxy struct {
	*httptest.Server
	mu       sync.Mutex
	cut      int   // number of further writes whose answers the proxy cuts
	statuses []int // statuses of the answers to writes
}

func startProxy(t *testing.T, target string) *proxy {
	t.Helper()
	p := new(proxy)
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { p.serve(t, w, r, target) }))
	t.Cleanup(p.Close)
	return p
}

func (p *proxy) serve(t *testing.T, w http.ResponseWriter, r *http.Request, target string) {
	isWrite := strings.Contains(r.URL.Path, "write")
	out, err := http.NewRequestWithContext(r.Context(), r.Method, target+r.URL.RequestURI(), r.Body)
	if err != nil {
		t.Error(err)
		return
	}
	out.Header = r.Header.Clone()
	resp, err := http.DefaultTransport.RoundTrip(out)
	if err != nil {
		panic(http.ErrAbortHandler) // the client disconnected
	}
	defer func() { _ = resp.Body.Close() }() // all of the body is read below
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if isWrite && p.cuts() {
		panic(http.ErrAbortHandler) // the readings are stored, and the client gets no answer
	}
	if isWrite {
		p.record(resp.StatusCode)
	}
	for name, values := range resp.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(resp.StatusCode)
	if _, err := w.Write(text); err != nil {
		t.Log(err) // the client disconnected
	}
}

func (p *proxy) cuts() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut--
	return p.cut >= 0
}

func (p *proxy) record(status int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.statuses = append(p.statuses, status)
}

func (p *proxy) answered(status int) (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.statuses {
		if s == status {
			n++
		}
	}
	return n
}

// points returns ten points. The first points have no device. The argument "bad" is their number.
func points(stream string, bad int) []string {
	at := time.Now().Add(-time.Hour).Truncate(time.Second)
	var all []string
	for i := range 10 {
		tags := ",device=d1"
		if i < bad {
			tags = ""
		}
		all = append(all, fmt.Sprintf("%s%s temperature=%d.5,ok=true %d", stream, tags, i, at.Add(time.Duration(i)*time.Second).UnixNano()))
	}
	return all
}

func writeLines(t *testing.T, lines []string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "lines.lp")
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
