package main

import (
	"bytes"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/arrowstream"
	"github.com/varvedb/varve/api/wire"
)

// TestArrow_RefusesUselessOutput checks that a terminal gets no binary output, and that varve arrivals
// writes at most one Arrow stream.
func TestArrow_RefusesUselessOutput(t *testing.T) {
	const binary = "--output arrow is binary: redirect it to a file"
	for _, row := range []struct {
		args, want string
		shown      bool
	}{
		{"query weather d1", binary, true},
		{"arrivals weather", binary, true},
		{"arrivals weather --follow", "--follow has no output arrow", false},
		{"arrivals weather --limit 100001", "--limit 100001: too large for --output arrow", false},
	} {
		var out, failed bytes.Buffer
		s := std{in: strings.NewReader(""), out: &out, err: &failed, shown: row.shown}
		args := append(strings.Fields(row.args), "-o", "arrow", "--server", "http://127.0.0.1:1")
		if code := execute(t.Context(), args, s); code != exitUsage || out.Len() > 0 || !strings.Contains(failed.String(), row.want) {
			t.Errorf("%s: exit code %d, output %q, error %q", row.args, code, out.String(), failed.String())
		}
	}
}

// TestArrivals_PrintsOneArrowStream checks that the output is the stream of one page, and that the
// messages after it have the cursor.
func TestArrivals_PrintsOneArrowStream(t *testing.T) {
	readings := []varve.Reading{{Series: varve.Series{Device: "d1"}, Time: time.Unix(5, 0), Arrived: time.Unix(6, 0)}}
	for _, row := range []struct {
		n          int
		more, want string
	}{
		{1, "true", "More readings have arrived.\nContinue with --since later\n"},
		{1, "false", "Continue with --since later\n"},
		{0, "false", "No reading has arrived since then.\nContinue with --since later\n"},
	} {
		var body bytes.Buffer
		types := arrowstream.NewTypeSet(nil)
		types.IncludeDevice()
		stream := types.NewWriter(&body, arrowstream.Exact)
		if err := errors.Join(stream.Add(readings[:row.n]), stream.Close()); err != nil {
			t.Fatal(err)
		}
		requests := 0
		h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			requests++
			if r.Header.Get("Accept") != wire.Arrow.MediaType() || r.URL.Query().Get("limit") != "100000" {
				t.Errorf("the request %s %v", r.URL, r.Header)
			}
			w.Header().Set("Trailer", "Varve-Next, Varve-More, Varve-Settled")
			_, _ = w.Write(body.Bytes())
			w.Header().Set(wire.HeaderNext, "later")
			w.Header().Set(wire.HeaderMore, row.more)
			w.Header().Set(wire.HeaderSettled, "2026-11-23T10:00:00Z")
		}))
		var out, messages bytes.Buffer
		code := execute(t.Context(), []string{"arrivals", "weather", "-o", "arrow", "--server", h.URL}, std{in: strings.NewReader(""), out: &out, err: &messages})
		h.Close()
		if code != 0 || !bytes.Equal(out.Bytes(), body.Bytes()) || messages.String() != row.want || requests != 1 {
			t.Errorf("exit code %d, %d bytes of %d, messages %q, %d requests", code, out.Len(), body.Len(), messages.String(), requests)
		}
	}
}
