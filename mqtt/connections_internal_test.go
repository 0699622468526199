package mqtt

import (
	"errors"
	"net"
	"os"
	"testing"
	"time"

	"github.com/mochi-mqtt/server/v2/listeners"
)

// TestConnections_EndSilentOnes checks that a connection without a first packet is closed after a time
// limit.
func TestConnections_EndSilentOnes(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := newConnections(l, 20*time.Millisecond, 0)
	ended, served := make(chan error, 1), make(chan struct{})
	var establish listeners.EstablishFn = func(_ string, conn net.Conn) error {
		_, err := conn.Read(make([]byte, 1))
		ended <- err
		return err
	}
	go func() {
		defer close(served)
		c.Serve(establish)
	}()
	device, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = device.Close() }()
	select {
	case err := <-ended:
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("the silent connection ended with %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Error("the silent connection did not end")
	}
	c.Close(func(string) {})
	<-served
}
