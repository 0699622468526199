package e2e

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/varvedb/varve/tests/varvetest"
)

// verifyOnline requests a verification from a server. It returns the answer once the verification
// has started.
func verifyOnline(ctx context.Context, t *testing.T, s *varvetest.Server, rate int) (*http.Response, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, fmt.Sprintf("%s/v1/verify?rate=%d", s.URL, rate), http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	return http.DefaultClient.Do(req)
}

// lastLine reads a whole answer and returns its last line.
func lastLine(resp *http.Response) (line string, err error) {
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		line = lines.Text()
	}
	return line, errors.Join(lines.Err(), resp.Body.Close())
}

// TestVerifyOnline_RunsLongAndEndsWithClient checks that a verification may take longer than
// other requests, ends if its client disconnects, and does not delay the end of the server.
func TestVerifyOnline_RunsLongAndEndsWithClient(t *testing.T) {
	dir := t.TempDir()
	s := start(t, dir)
	if status, text := send(t, http.MethodPost, s.URL+"/v1/streams/fleet/readings", noise(0, 20000)); status != http.StatusOK {
		t.Fatalf("%d: %s", status, text)
	}
	if err := s.Stop(); err != nil { // writes all readings to chunks, because a verification does not read the journal
		t.Fatal(err)
	}
	s = start(t, dir, "--set", "limits.request=5s")
	begin := time.Now()
	// At 25,000 bytes per second, the store of about 200 KB takes longer than limits.request.
	resp, err := verifyOnline(t.Context(), t, s, 25_000)
	if err != nil {
		t.Fatal(err)
	}
	if line, err := lastLine(resp); line != `{"done":true}` || err != nil {
		t.Errorf("the last line of a long verification is %q, %v", line, err)
	}
	if took := time.Since(begin); took < 5*time.Second {
		t.Errorf("the verification took %s: this test does not show that it may take longer than a request", took)
	}

	ctx, gone := context.WithCancel(t.Context())
	resp, err = verifyOnline(ctx, t, s, 1)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatal(resp, err)
	}
	if status, text := send(t, http.MethodPost, s.URL+"/v1/verify", ""); status != http.StatusConflict || !strings.Contains(text, "under way") {
		t.Errorf("a second verification is answered with %d %s", status, text)
	}
	gone()
	if err := resp.Body.Close(); err != nil {
		t.Error(err)
	}
	if !varvetest.Eventually(func() bool {
		if resp, err = verifyOnline(t.Context(), t, s, 1); err == nil && resp.StatusCode != http.StatusOK {
			err = errors.Join(errors.New(resp.Status), resp.Body.Close())
		}
		return err == nil
	}) {
		t.Fatalf("after its client has gone, a verification goes on: %v", err)
	}

	if err := s.Terminate(); err != nil {
		t.Fatal(err)
	}
	if line, err := lastLine(resp); !strings.Contains(line, "the server stops") || err != nil {
		t.Errorf("the last line of a verification that the server's end cut short is %q, %v", line, err)
	}
	if err := s.Wait(); err != nil || strings.Contains(s.Output(), "cut off") {
		t.Errorf("the server ended with %v\n%s", err, s.Output())
	}
}
