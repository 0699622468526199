package api_test

import (
	"context"
	"fmt"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/grid"
	"io"
	"net/http"
	"strings"
	"testing"
)

// TestDisconnect_IsNotFault checks that a client that disconnects before or during its answer is
// not reported as a fault of the server.
func TestDisconnect_IsNotFault(t *testing.T) {
	s := newServer(t, nil)
	text := strings.Repeat("x", 60<<10)
	var body strings.Builder
	for i := range 400 {
		fmt.Fprintf(&body, `{"device":"d1","time":%d,"fields":{"a":"%s"}}`+"\n", noon.UnixMilli()-int64(i), text)
	}
	if a := decode[wire.WriteAnswer](s.send("POST", writePath, body.String(), ndjson...)); a.Stored != 400 {
		t.Fatalf("%+v", a)
	}
	// During the answer: the client reads a part, and closes the connection.
	resp, err := s.Client().Get(s.URL + readPath)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(resp.Body, make([]byte, 100)); err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	s.Client().CloseIdleConnections()
	// Before the answer: the client cancels the request while the store reads. The read ends later.
	ctx, cancel := context.WithCancel(t.Context())
	left := make(chan struct{})
	s.store.set(&s.store.read, func(grid.Table) error {
		cancel()
		<-left
		return fmt.Errorf("read a chunk: %w", context.Canceled)
	})
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+readPath, nil)
	if err != nil {
		t.Fatal(err)
	}
	if resp, err := s.Client().Do(req); err == nil {
		resp.Body.Close()
		t.Error("there is an answer")
	}
	close(left)
	s.Close() // waits for requests in flight
	if n := s.failures(); n > 0 {
		t.Errorf("%d failures were told of: %v", n, s.failed)
	}
}
