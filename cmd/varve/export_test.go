package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/varvedb/varve/api/wire"
)

// TestExport_PrintsProgressAndHint exports one device from a server whose arrivals do not settle. On a
// terminal, the line of progress must have the readings and the devices. The hint must name the settled
// time and the reason. Without --since, no hint may be printed, because no run follows.
func TestExport_PrintsProgressAndHint(t *testing.T) {
	const reading = `{"time":"2026-01-01T00:00:00Z","id":"x","arrived":"2026-01-01T00:00:01Z","fields":{"a":1}}` + "\n"
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "/series"):
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"series":[{"device":"d1"}]}`))
		case r.URL.Query().Has("settle"):
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusConflict)
			_, _ = w.Write([]byte(`{"title":"Conflict","status":409,"detail":"settle: some arrivals are not settled yet","errors":[{"location":"query.settle"}]}`))
		default:
			w.Header().Set("Content-Type", wire.NDJSON.MediaType())
			w.Header().Set("Trailer", wire.HeaderNext+", "+wire.HeaderMore+", "+wire.HeaderSettled)
			next := ""
			if strings.HasSuffix(r.URL.Path, "/readings") {
				_, _ = w.Write([]byte(reading))
			} else {
				next = "cursor"
				w.WriteHeader(http.StatusOK)
			}
			w.Header().Set(wire.HeaderNext, next)
			w.Header().Set(wire.HeaderMore, "false")
			w.Header().Set(wire.HeaderSettled, "2026-01-01T00:00:02Z")
		}
	}))
	defer h.Close()
	dir := t.TempDir()
	var out, messages bytes.Buffer
	streams := std{in: strings.NewReader(""), out: &out, err: &messages, terminal: true}
	args := []string{"export", "weather", filepath.Join(dir, "copy"), "--since", filepath.Join(dir, "state"), "--server", h.URL}
	if code := execute(t.Context(), args, streams); code != exitOK || out.String() != "Copied all readings: 1 reading in 1 file.\n" {
		t.Fatalf("exit code %d, %s%s", code, out.String(), messages.String())
	}
	progress, hint, _ := strings.Cut(messages.String(), "/s\r\x1b[K")
	if !strings.HasPrefix(progress, "\r\x1b[K1 reading, 1 of 1 device, ") {
		t.Errorf("progress: %q", progress)
	}
	const want = "Arrivals are settled until 2026-01-01T00:00:02Z. The next run copies later readings, once each write before them has ended or its process is known to be gone.\n"
	if hint != want {
		t.Errorf("hint %q, want %q", hint, want)
	}
	messages.Reset()
	streams.terminal = false
	args = []string{"export", "weather", filepath.Join(dir, "third"), "--since", filepath.Join(dir, "third.state"), "-o", "json", "--server", h.URL}
	if code := execute(t.Context(), args, streams); code != exitOK || messages.String() != want {
		t.Errorf("with -o json: exit code %d, hint %q, want %q", code, messages.String(), want)
	}
	messages.Reset()
	args = []string{"export", "weather", filepath.Join(dir, "other"), "--server", h.URL}
	if code := execute(t.Context(), args, streams); code != exitOK || messages.Len() > 0 {
		t.Errorf("without --since: exit code %d, messages %q; want a copy without a hint", code, messages.String())
	}
}
