package api_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/client"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/grid"
	"github.com/varvedb/varve/store"
)

// newDamaged returns a server with 20,000 readings of a device. Its store reports damage on every read. The
// function failAfter first permits the given number of reads.
func newDamaged(t *testing.T) (s *server, failAfter func(reads int32)) {
	t.Helper()
	s = newServer(t, withChanges)
	var lines []string
	for i := range 20_000 {
		lines = append(lines, fmt.Sprintf(`{"device":"d1","time":%d,"fields":{"a":%d}}`, noon.Add(time.Duration(i-19_999)*time.Second).UnixMilli(), i))
	}
	s.write(lines...)
	s.advance(time.Minute) // all arrivals are settled
	var left atomic.Int32
	s.store.set(&s.store.read, func(grid.Table) error {
		if left.Add(-1) < 0 {
			return &store.DamageError{File: "000042.sst", Err: errDisk}
		}
		return nil
	})
	return s, left.Store
}

// cutBody returns the body of an answer that the server cuts off, and its trailers.
func (s *server) cutBody(path, accept string) (body string, trailer http.Header) {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, s.URL+path, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Accept", accept)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }() // the answer is cut off
	text, err := io.ReadAll(resp.Body)
	if resp.StatusCode != http.StatusOK || !errors.Is(err, io.ErrUnexpectedEOF) {
		s.t.Fatalf("%s: status %d, %d bytes, %v: the answer is not cut off", accept, resp.StatusCode, len(text), err)
	}
	return string(text), resp.Trailer
}

// TestCutOff_EndsWithError damages the store while it is read. An answer in NDJSON must end with the
// error, and no answer may look complete.
func TestCutOff_EndsWithError(t *testing.T) {
	s, failAfter := newDamaged(t)
	for path, fields := range map[string]string{with(readPath, "fields", "a"): `{"time":`, changesPath: `{"device":`} {
		for _, accept := range []string{"application/x-ndjson", "text/csv", "application/json"} {
			if accept == "text/csv" && path == changesPath {
				continue // the server collects changes in CSV before it sends a part
			}
			failAfter(4)
			body, trailer := s.cutBody(path, accept)
			if trailer.Get(wire.HeaderNext) != "" || trailer.Get("Varve-Coverage") != "" {
				t.Errorf("%s as %s: trailers %v", path, accept, trailer)
			}
			lines := strings.Split(strings.TrimSuffix(body, "\n"), "\n")
			last := lines[len(lines)-1]
			if accept != "application/x-ndjson" {
				if strings.Contains(body, `"error"`) {
					t.Errorf("%s as %s ends with %q", path, accept, last)
				}
				continue
			}
			if len(lines) < 1000 || !strings.HasPrefix(lines[0], fields) || !strings.HasPrefix(last, `{"error":{"title":"Internal Server Error","status":500,"detail":`) ||
				!strings.Contains(last, `"code":"damaged"`) || !strings.HasSuffix(body, "}\n") {
				t.Errorf("%s: %d lines, from %q to %q", path, len(lines), lines[0], last)
			}
		}
	}
}

// TestClient_ReturnsErrorOfCutOffAnswer checks that the Go client returns the readings before the damage,
// and then the error with its failure.
func TestClient_ReturnsErrorOfCutOffAnswer(t *testing.T) {
	s, failAfter := newDamaged(t)
	c, err := client.New(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	check := func(what string, n int, err error) {
		t.Helper()
		if n < 1000 || n >= 20_000 || varve.FailureOf(err) != varve.Damaged || !strings.Contains(err.Error(), "incomplete") {
			t.Errorf("%s: %d readings, and then %v", what, n, err)
		}
	}
	failAfter(4)
	n, last := 0, error(nil)
	for _, err := range c.Readings(t.Context(), client.Query{Stream: "weather", Device: "d1"}, nil) {
		if last = err; err == nil {
			n++
		}
	}
	check("readings", n, last)
	failAfter(8)
	n = 0
	_, err = c.ReadChanges(t.Context(), client.ChangesQuery{Stream: "weather"}, func(*varve.Reading) error { n++; return nil })
	check("changes", n, err)
	failAfter(1 << 30)
	n = 0
	for _, err := range c.Readings(t.Context(), client.Query{Stream: "weather", Device: "d1"}, nil) {
		if n++; err != nil {
			t.Fatal(err)
		}
	}
	if n != 20_000 {
		t.Errorf("%d readings of an undamaged store", n)
	}
}
