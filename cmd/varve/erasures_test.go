//go:build linux

package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestErase_AsksForDeviceOnTerminal answers the question of varve devices erase. Only the name of the
// device may begin the erasure. The request must have the digest of the plan that was shown.
func TestErase_AsksForDeviceOnTerminal(t *testing.T) {
	for answer, want := range map[string]struct {
		exit  int
		begun string
		says  string
	}{
		"s1\n":  {exitOK, "plan=abc-1&stream=w", "Erasure e1 has begun"},
		"s2\n":  {exitFailure, "", "nothing was changed: the name differs"},
		"yes\n": {exitFailure, "", "nothing was changed: the name differs"},
		"\n":    {exitFailure, "", "nothing was changed: the name differs"},
	} {
		t.Run(answer, func(t *testing.T) {
			begun := ""
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body := `{"device":"s1","readings":3,"tables":[{"table":"t","stream":"w","readings":3}],"digest":"abc-1","arrived":"2026-11-21T12:00:00Z"}`
				if r.Method == http.MethodPost {
					begun, body = r.URL.RawQuery, `{"id":"e1","device":"s1","state":"erasing"}`
				}
				w.Header().Set("Content-Type", "application/json")
				_, _ = io.WriteString(w, body)
			}))
			defer server.Close()
			master, slave := openTerminal(t, 24, 80)
			defer master.Close()
			defer slave.Close()
			if _, err := io.WriteString(master, answer); err != nil {
				t.Fatal(err)
			}
			var out strings.Builder
			code := endsWith(t, t.Context(), []string{"devices", "erase", "s1", "--stream", "w", "--server", server.URL}, std{in: slave, out: &out, err: &out})
			if code != want.exit || begun != want.begun || !strings.Contains(out.String(), want.says) || !strings.Contains(out.String(), "The plan deletes from device s1: 3 readings.") {
				t.Errorf("exit code %d, begun with %q, want %d and %q:\n%s", code, begun, want.exit, want.begun, out.String())
			}
		})
	}
}
