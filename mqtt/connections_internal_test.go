package mqtt

import (
	"errors"
	"net"
	"os"
	"testing"
	"testing/synctest"
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
	c := newConnections(l, 20*time.Millisecond, 0, func(net.Conn) {})
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

// oneConn is a net.Listener that accepts one connection.
type oneConn struct {
	conn   chan net.Conn
	closed chan struct{}
}

func (l *oneConn) Accept() (net.Conn, error) {
	select {
	case conn := <-l.conn:
		return conn, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *oneConn) Close() error {
	close(l.closed)
	return nil
}

func (l *oneConn) Addr() net.Addr { return nil }

// TestConnections_CloseEndsStalledOnes checks that Close does not wait for a device that reads nothing.
func TestConnections_CloseEndsStalledOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		local, device := net.Pipe()
		defer func() { _ = device.Close() }()
		l := &oneConn{make(chan net.Conn, 1), make(chan struct{})}
		l.conn <- local
		c := newConnections(l, time.Minute, 0, func(net.Conn) {})
		var opened net.Conn
		go c.Serve(func(_ string, conn net.Conn) error {
			opened = conn
			_, err := conn.Read(make([]byte, 1))
			return err
		})
		synctest.Wait()
		began := time.Now()
		c.Close(func(string) { _, _ = opened.Write([]byte("a DISCONNECT that the device does not read")) })
		if took := time.Since(began); took != farewell {
			t.Errorf("Close took %s, want %s", took, farewell)
		}
	})
}

// TestDeviceConn_LimitsWrites checks that a write to a device that reads nothing fails after writeLimit,
// whatever deadline the MQTT library sets for its reads.
func TestDeviceConn_LimitsWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		local, device := net.Pipe()
		defer func() { _ = device.Close() }()
		c := &deviceConn{Conn: local}
		failed := make(chan error)
		began := time.Now()
		go func() {
			_, err := c.Write([]byte("x"))
			failed <- err
		}()
		synctest.Wait()
		if err := c.SetDeadline(time.Time{}); err != nil {
			t.Fatal(err)
		}
		if err := <-failed; !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(began) != writeLimit {
			t.Errorf("the write ended with %v after %s, want a timeout after %s", err, time.Since(began), writeLimit)
		}
	})
}
