package e2e

import (
	"errors"
	"fmt"
	"github.com/varvedb/varve/tests/varvetest"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestDamage_IsReportedToClients flips a bit on disk. The server must not end. It must refuse a read of
// all readings of the affected device with the code "damaged", serve reads of other devices, and accept
// writes. It must report the damage to the operator. A restart must change nothing.
func TestDamage_IsReportedToClients(t *testing.T) {
	const devices, n = 5, 20000
	dir := t.TempDir()
	s := start(t, dir)
	for i := range devices {
		status, text := send(t, http.MethodPost, s.URL+"/v1/streams/fleet/readings", noise(i, n))
		if status != http.StatusOK {
			t.Fatalf("%d: %s", status, text)
		}
	}
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	flipLargest(t, dir)
	s = start(t, dir)
	for i := range devices {
		meet(t, s, i)
	}
	if !varvetest.Eventually(func() bool { return strings.Contains(s.Output(), "set aside") }) {
		t.Errorf("nothing is set aside:\n%s", s.Output())
	}
	if err := s.Stop(); err != nil {
		t.Fatalf("the server ended with %v\n%s", err, s.Output())
	}
	for life := range 3 {
		s = start(t, dir)
		checkPages(t, s, devices, life)
		hit := ""
		for i := range devices {
			if status, text := whole(t, s, i, n); status != http.StatusOK {
				hit += fmt.Sprintf("d%d ", i)
				if !namesDamage(status, text, i) {
					t.Errorf("life %d: d%d: %d: %.300s", life, i, status, text)
				}
				checkSkips(t, s, i, life)
			}
		}
		if strings.Count(hit, " ") != 1 {
			t.Errorf("life %d: %q are refused, want one device", life, hit)
		}
		if status, text := send(t, http.MethodPost, s.URL+"/v1/streams/fleet/readings", `{"device":"new","time":"2026-04-20T10:00:00Z","fields":{"a":1}}`); status != http.StatusOK {
			t.Errorf("life %d: a write: %d: %s", life, status, text)
		}
		checkReported(t, s, life)
		if err := s.Stop(); err != nil {
			t.Fatalf("life %d: the server ended with %v\n%s", life, err, s.Output())
		}
	}
}

// checkPages reads the first page of each device in both orders, and its latest reading. The
// server must return each page or refuse it as damaged. It must always return the latest reading.
func checkPages(t *testing.T, s *varvetest.Server, devices, life int) {
	t.Helper()
	for i := range devices {
		for _, query := range []string{"", "?order=desc"} {
			status, text := send(t, http.MethodGet, fmt.Sprintf("%s/v1/streams/fleet/devices/d%d/readings%s", s.URL, i, query), "")
			if status != http.StatusOK && !namesDamage(status, text, i) {
				t.Errorf("life %d: d%d: %d: %.300s", life, i, status, text)
			}
		}
		if status, text := send(t, http.MethodGet, fmt.Sprintf("%s/v1/streams/fleet/devices/d%d/latest", s.URL, i), ""); status != http.StatusOK {
			t.Errorf("life %d: latest of d%d: %d: %.300s", life, i, status, text)
		}
	}
}

// checkSkips reads the damaged device with damaged=skip. The answer must have readings, and its coverage must
// name the range of event times that may be lost.
func checkSkips(t *testing.T, s *varvetest.Server, i, life int) {
	t.Helper()
	status, text := send(t, http.MethodGet, fmt.Sprintf("%s/v1/streams/fleet/devices/d%d/readings?damaged=skip&limit=20000", s.URL, i), "")
	want := fmt.Sprintf(`"series":"default/fleet/d%d","ts":"2026-04-19T`, i)
	if status != http.StatusOK || !strings.Contains(text, want) || !strings.Contains(text, `"failed":["varve_`) || !strings.Contains(text, `{"time":"2026-04-19T00:00:00Z"`) {
		t.Errorf("life %d: d%d with damaged=skip: %d: %.300s … %s, want %s", life, i, status, text, text[max(0, len(text)-600):], want)
	}
}

// checkReported checks that the readiness, the metrics and the log report the damage.
func checkReported(t *testing.T, s *varvetest.Server, life int) {
	t.Helper()
	reported := varvetest.Eventually(func() bool {
		_, ready := send(t, http.MethodGet, s.URL+"/readyz", "")
		_, metrics := send(t, http.MethodGet, s.URL+"/metrics", "")
		return strings.Contains(ready, `"name":"data_damaged"`) && strings.Contains(metrics, "varve_damage_losses 1")
	})
	if !reported || !strings.Contains(s.Output(), "readings are lost and refused") {
		t.Errorf("life %d: the damage is not reported:\n%s", life, s.Output())
	}
}

// namesDamage reports whether an answer names the device and the remedy, and no file on disk.
func namesDamage(status int, text string, i int) bool {
	return status == http.StatusInternalServerError && strings.Contains(text, `"code":"damaged"`) &&
		strings.Contains(text, fmt.Sprintf("default/fleet/d%d", i)) && strings.Contains(text, "varve repair") && !strings.Contains(text, ".sst")
}

// whole reads all readings of a device in one request.
func whole(t *testing.T, s *varvetest.Server, i, n int) (status int, text string) {
	t.Helper()
	return send(t, http.MethodGet, fmt.Sprintf("%s/v1/streams/fleet/devices/d%d/readings?format=csv&limit=%d", s.URL, i, n), "")
}

func send(t *testing.T, method, url, body string) (status int, text string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-ndjson")
	status, text, err = do(req)
	if err != nil {
		t.Fatalf("%s %s: %v", method, url, err)
	}
	return status, text
}

// meet reads all readings of a device. If this is the first read that finds the damage, the answer
// may be truncated.
func meet(t *testing.T, s *varvetest.Server, i int) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, fmt.Sprintf("%s/v1/streams/fleet/devices/d%d/readings", s.URL, i), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := do(req); err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("d%d: %v", i, err)
	}
}

// noise returns n readings whose values are random, so that they do not compress well.
func noise(i, n int) string {
	rng := rand.New(rand.NewPCG(uint64(i), 5))
	at := time.Date(2026, 4, 19, 0, 0, 0, 0, time.UTC)
	var b strings.Builder
	for j := range n {
		fmt.Fprintf(&b, `{"device":"d%d","time":"%s","fields":{"a":%d}}`+"\n", i, at.Add(time.Duration(j)*time.Second).Format(time.RFC3339), rng.Int64())
	}
	return b.String()
}

// flipLargest flips a bit in the middle of the largest file of Pebble.
func flipLargest(t *testing.T, dir string) {
	t.Helper()
	var path string
	var size int64
	err := filepath.Walk(dir, func(p string, info os.FileInfo, err error) error {
		if err == nil && strings.HasSuffix(p, ".sst") && info.Size() > size {
			path, size = p, info.Size()
		}
		return err
	})
	if err != nil || path == "" {
		t.Fatalf("no files: %v", err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)/2] ^= 8
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}
