package api_test

import (
	"fmt"
	"github.com/varvedb/varve/api/wire"
	"net"
	"net/http"
	"runtime"
	"testing"
	"time"
)

// TestSlowUploads_DoNotDelayOthers checks that large bodies of slow clients do not delay other
// bodies.
func TestSlowUploads_DoNotDelayOthers(t *testing.T) {
	s := newServer(t, nil)
	s.send(http.MethodPost, writePath, good(noon), ndjson...) // a small request, after which large requests yield to small ones
	for range 2 * runtime.GOMAXPROCS(0) {
		conn, err := net.Dial("tcp", s.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() }) // the server may have closed it
		if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
			t.Fatal(err)
		}
		const head = "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-ndjson\r\nContent-Length: 1000000\r\n\r\n%s"
		if _, err := fmt.Fprintf(conn, head, writePath, lines(10)); err != nil {
			t.Fatal(err)
		}
	}
	begin := time.Now()
	for _, n := range []int{1, 5000} { // a small body, and a large one
		r := s.send(http.MethodPost, writePath, lines(n), ndjson...)
		if a := decode[wire.WriteAnswer](r); r.status != http.StatusOK || a.Stored+a.Duplicates != int64(n) {
			t.Errorf("%d readings: %d %s", n, r.status, r.body)
		}
	}
	if took := time.Since(begin); took > 15*time.Second {
		t.Errorf("two requests waited %s for slow uploads", took)
	}
}
