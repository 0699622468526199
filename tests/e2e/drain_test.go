package e2e

import (
	"github.com/varvedb/varve/tests/varvetest"
	"io"
	"net/http"
	"strings"
	"testing"
)

// TestDrain_FinishesRunningRequest checks that a request that is running at SIGTERM gets its
// answer. Then the server must end with exit code 0, and the acknowledged readings must exist
// after a restart.
func TestDrain_FinishesRunningRequest(t *testing.T) {
	dir := t.TempDir()
	s := start(t, dir)
	body, pipe := io.Pipe()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/v1/streams/fleet/readings", body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-ndjson")
	req.Header.Set("Expect", "100-continue") // the client sends the body once the server asks for it, so the request is running then
	type answer struct {
		status int
		text   string
		err    error
	}
	answers := make(chan answer, 1)
	go func() {
		status, text, err := do(req)
		answers <- answer{status, text, err}
	}()
	line := `{"device":"s1","time":"2026-04-20T14:00:00Z","fields":{"a":1}}` + "\n"
	if _, err := io.WriteString(pipe, line); err != nil {
		t.Fatal(err)
	}
	if err := s.Terminate(); err != nil {
		t.Fatal(err)
	}
	if !varvetest.Eventually(func() bool { return strings.Contains(s.Output(), "shutdown started") }) {
		t.Fatalf("the server does not say that it stops:\n%s", s.Output())
	}
	if _, err := io.WriteString(pipe, strings.Replace(line, "14:00", "14:01", 1)); err != nil {
		t.Fatal(err)
	}
	if err := pipe.Close(); err != nil {
		t.Fatal(err)
	}
	a := <-answers
	if a.err != nil || a.status != http.StatusOK || !strings.Contains(a.text, `"stored":2`) {
		t.Errorf("the request under way got %d, %v: %s", a.status, a.err, a.text)
	}
	if err := s.Wait(); err != nil {
		t.Errorf("the server ended with %v\n%s", err, s.Output())
	}
	again := start(t, dir)
	req, err = http.NewRequestWithContext(t.Context(), http.MethodGet, again.URL+"/v1/streams/fleet/devices/s1/readings", nil)
	if err != nil {
		t.Fatal(err)
	}
	status, text, err := do(req)
	if err != nil || status != http.StatusOK || strings.Count(text, `"a":1`) != 2 {
		t.Errorf("after a restart: %d, %v: %s", status, err, text)
	}
}

// TestDrain_IsBounded checks that an endless request does not prevent the server from ending. The
// request must fail, and the server must log that it was cut off.
func TestDrain_IsBounded(t *testing.T) {
	dir := t.TempDir()
	s := start(t, dir, "--set", "server.drain=1s")
	body, pipe := io.Pipe()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/v1/streams/fleet/readings", body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Expect", "100-continue")
	failed := make(chan error, 1)
	go func() {
		_, _, err := do(req)
		failed <- err
	}()
	if _, err := io.WriteString(pipe, `{"device":"s1",`); err != nil {
		t.Fatal(err)
	}
	if err := s.Stop(); err != nil {
		t.Errorf("the server ended with %v\n%s", err, s.Output())
	}
	if err := pipe.Close(); err != nil { // without this, the client would wait for the end of the body
		t.Error(err)
	}
	if err := <-failed; err == nil {
		t.Errorf("the request that was cut off got %v", err)
	}
	if !strings.Contains(s.Output(), "cut off") {
		t.Errorf("the server does not say that it cut requests off:\n%s", s.Output())
	}
}

func start(t *testing.T, dir string, args ...string) *varvetest.Server {
	t.Helper()
	s, err := varvetest.Start(t.Context(), binary, dir, args...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Kill() }) // the server may have ended on its own
	return s
}
