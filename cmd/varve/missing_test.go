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

// missingServer returns a server whose answers lack the table t1 and two others.
func missingServer(t *testing.T) (url string) {
	const cover = `{"read":[],"expired":[],"missing":["t1"],"more_missing":2,"failed":[]}`
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, media := "", "application/json"
		switch _, last, _ := strings.Cut(r.URL.Path, "weather/"); last {
		case "series":
			body = `{"series":[{"device":"d1"}]}`
		case "aggregate", "devices/d1/aggregate":
			body = `{"buckets":[],"source":"readings","coverage":` + cover + `}`
		case "latest":
			body = `{"latest":[{"device":"d1","reading":null,"coverage":` + cover + `},{"device":"d2","reading":null,"coverage":` + cover + `}]}`
		default:
			media = wire.NDJSON.MediaType()
		}
		w.Header().Set("Content-Type", media)
		w.Header().Set("Trailer", wire.HeaderNext+", "+wire.HeaderMore+", "+wire.HeaderSettled+", Varve-Coverage")
		w.WriteHeader(http.StatusOK)
		_, _ = w.Write([]byte(body))
		next := ""
		if strings.HasSuffix(r.URL.Path, "/arrivals") {
			next = "cursor"
		}
		w.Header().Set(wire.HeaderNext, next)
		w.Header().Set(wire.HeaderMore, "false")
		w.Header().Set(wire.HeaderSettled, "2026-01-01T00:00:02Z")
		w.Header().Set("Varve-Coverage", cover)
	}))
	t.Cleanup(h.Close)
	return h.URL
}

// TestCommands_PrintMissingTables checks that each command that reads readings names the tables that another
// program deleted, once.
func TestCommands_PrintMissingTables(t *testing.T) {
	url := missingServer(t)
	for _, args := range [][]string{
		{"query", "weather", "d1"}, {"query", "weather", "d1", "-o", "ndjson"}, {"aggregate", "weather", "d1", "--step", "1h"},
		{"latest", "weather", "d1"}, {"latest", "weather", "-o", "json"}, {"export", "weather", filepath.Join(t.TempDir(), "copy")},
	} {
		var out, messages bytes.Buffer
		code := execute(t.Context(), append(args, "--server", url), std{in: strings.NewReader(""), out: &out, err: &messages})
		const want = "Left out, because it was deleted: table t1\nLeft out, because they were deleted: 2 more tables\n"
		if code != exitOK || strings.Count(messages.String(), want) != 1 {
			t.Errorf("%v: exit code %d, %q, want %q", args, code, messages.String(), want)
		}
		if strings.Contains(out.String(), "all readings:") {
			t.Errorf("%v: %q", args, out.String())
		}
	}
}
