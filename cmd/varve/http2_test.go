package main

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/varvedb/varve/config"
)

// deaf is a connection whose client stops reading when gate is closed.
type deaf struct {
	net.Conn
	gate, ended chan struct{}
}

func (d *deaf) Read(p []byte) (int, error) {
	select {
	case <-d.gate:
		<-d.ended
	default:
	}
	return d.Conn.Read(p)
}

// TestHTTP2_EndsConnectionWithoutReader checks that a connection of HTTP/2 ends if its client does
// not read from it. The deadline of a stream is not enough, because its end waits for the connection.
func TestHTTP2_EndsConnectionWithoutReader(t *testing.T) {
	c := &config.Config{}
	c.Limits.Stall, c.Limits.Request = 100*time.Millisecond, time.Minute
	gate, ended := make(chan struct{}), make(chan struct{})
	failed := make(chan error, 1)
	s := httptest.NewUnstartedServer(nil)
	s.Config = newServer(c, zerolog.Nop(), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(gate)
		_, err := w.Write(make([]byte, 64<<20))
		failed <- err
	}), nil)
	s.EnableHTTP2 = true
	s.StartTLS()
	defer s.Close()
	transport, _ := s.Client().Transport.(*http.Transport)
	transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, address)
		if tcp, ok := conn.(*net.TCPConn); ok {
			err = tcp.SetReadBuffer(4096)
		}
		return &deaf{conn, gate, ended}, err
	}
	go func() {
		if resp, err := s.Client().Get(s.URL); err == nil {
			<-ended
			resp.Body.Close()
		}
	}()
	select {
	case err := <-failed:
		if err == nil {
			t.Error("the whole answer was written, want an error")
		}
	case <-time.After(20 * time.Second):
		t.Error("the handler still writes")
	}
	close(ended)
}
