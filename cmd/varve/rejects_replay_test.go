package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestRejectsReplay_PassesMissingOnes checks that a repeated replay reports rejects that an earlier replay
// deleted, and replays the others.
func TestRejectsReplay_PassesMissingOnes(t *testing.T) {
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/rejects/b/replay" {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"rejects":1,"stored":1,"deleted":1}`)
			return
		}
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, `{"title":"Not Found","status":404,"detail":"reject: not found"}`)
	}))
	defer h.Close()
	var out, messages bytes.Buffer
	code := execute(t.Context(), []string{"rejects", "replay", "a", "b", "--server", h.URL}, std{in: strings.NewReader(""), out: &out, err: &messages})
	const missing, done = "a: not found: it may have been replayed or deleted already\n", "1 reject: 1 reading stored, 0 duplicates, 0 rejected; 1 reject deleted.\n"
	if code != exitOK || out.String() != done || messages.String() != missing {
		t.Errorf("exit code %d, %q, %q, want %d, %q, %q", code, out.String(), messages.String(), exitOK, done, missing)
	}
}
