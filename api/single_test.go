package api_test

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// BenchmarkSingle sends small writes of one reading over one connection.
func BenchmarkSingle(b *testing.B) {
	srv := httptest.NewServer(benched(b, 0))
	defer srv.Close()
	conn, err := net.Dial("tcp", srv.Listener.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close()
	answers := bufio.NewReader(conn)
	at := time.Now().Add(-24 * time.Hour).UnixMilli()
	var body, request bytes.Buffer
	n := 0
	for b.Loop() {
		body.Reset()
		request.Reset()
		appendBenched(&body, n%1000, at+int64(n), n)
		n++
		fmt.Fprintf(&request, "POST /v1/streams/bench/readings HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s", body.Len(), body.Bytes())
		if _, err := conn.Write(request.Bytes()); err != nil {
			b.Fatal(err)
		}
		resp, err := http.ReadResponse(answers, nil)
		if err != nil || resp.StatusCode != http.StatusOK {
			b.Fatal(resp, err)
		}
		if err := resp.Body.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
