package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/varvedb/varve/api/wire"
)

// TestQuery_FailsWithoutTrailers checks that varve query fails if a proxy drops the trailers. Otherwise the first
// page would look like the whole answer.
func TestQuery_FailsWithoutTrailers(t *testing.T) {
	const reading = `{"time":"2026-01-01T00:00:00Z","id":"x","arrived":"2026-01-01T00:00:01Z","fields":{"a":1}}` + "\n"
	for _, row := range []struct {
		output   string
		trailers bool
		code     int
	}{
		{"ndjson", false, exitFailure}, {"ndjson", true, exitOK}, {"table", false, exitFailure}, {"table", true, exitOK},
	} {
		h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", wire.NDJSON.MediaType())
			if row.trailers {
				w.Header().Set("Trailer", wire.HeaderNext)
			}
			_, _ = w.Write([]byte(reading))
			if row.trailers {
				w.Header().Set(wire.HeaderNext, "")
			}
		}))
		var out, messages bytes.Buffer
		code := execute(t.Context(), []string{"query", "weather", "d1", "-o", row.output, "--server", h.URL}, std{in: strings.NewReader(""), out: &out, err: &messages})
		h.Close()
		if explained := strings.Contains(messages.String(), "let proxies pass trailers"); code != row.code || explained == row.trailers {
			t.Errorf("%+v: exit code %d, %s", row, code, messages.String())
		}
	}
}
