package s3_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/varvedb/varve/objectstore/s3"
)

// TestGet_FailsIfServiceIsSilent uses a service that accepts connections and never answers. Reads and writes must
// fail with a timeout, long before their context ends.
func TestGet_FailsIfServiceIsSilent(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "test")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "test")
	silent, err := net.Listen("tcp", "127.0.0.1:0") // the system accepts connections, and nothing reads them
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	b, err := s3.Open(t.Context(), s3.Options{Bucket: "b", Endpoint: "http://" + silent.Addr().String(), ReadOnly: true, Stall: 20 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Get(t.Context(), "key", 0, 10); err == nil || !strings.Contains(err.Error(), "timeout") {
		t.Errorf("read: %v, want a timeout", err)
	}
	if err := b.PutNew(t.Context(), "key", make([]byte, 16<<20)); err == nil || !strings.Contains(err.Error(), "timeout") {
		t.Errorf("write: %v, want a timeout", err)
	}
}

// TestGet_ReadsSlowAnswer reads from a service that sends a byte from time to time. The read lasts longer than the
// limit without progress, and must succeed.
func TestGet_ReadsSlowAnswer(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "test")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "test")
	const bytes, stall = 8, 400 * time.Millisecond
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "8")
		tick := time.NewTicker(stall / 4)
		defer tick.Stop()
		for range bytes {
			<-tick.C
			_, _ = w.Write([]byte{'a'}) // the client may have failed
			_ = http.NewResponseController(w).Flush()
		}
	}))
	defer service.Close()
	b, err := s3.Open(t.Context(), s3.Options{Bucket: "b", Endpoint: service.URL, ReadOnly: true, Stall: stall})
	if err != nil {
		t.Fatal(err)
	}
	if body, err := b.Get(t.Context(), "key", 0, -1); err != nil || string(body) != strings.Repeat("a", bytes) {
		t.Errorf("%q, %v", body, err)
	}
}
