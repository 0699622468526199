package mqtt_test

import (
	"io"
	"net"
	"testing"
	"time"
)

// dialRaw opens a connection to a listener, and sends bytes. Reads fail after 20 seconds.
func dialRaw(t *testing.T, address, send string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() }) // the test may have closed it already
	if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, send); err != nil {
		t.Fatal(err)
	}
	return conn
}

// expect reads the length of a text from a connection, and compares.
func expect(t *testing.T, conn net.Conn, want string) {
	t.Helper()
	got := make([]byte, len(want))
	if n, err := io.ReadFull(conn, got); string(got) != want {
		t.Fatalf("the server sent %q, %v, want %q", got[:n], err, want)
	}
}

// TestListener_ForgetsRefusedDevices checks that a device counts as connected only until its connection
// ends, although its maximum length of packets forbids the first answer.
func TestListener_ForgetsRefusedDevices(t *testing.T) {
	w := newWorld(t, 10)
	l := w.start(t)
	defer func() { _ = l.Close() }() // no message is under way
	conn := dialRaw(t, l.Addr().String(), "\x10\x13\x00\x04MQTT\x05\x02\x00\x1e\x05\x27\x00\x00\x00\x05\x00\x01c")
	if answer, err := io.ReadAll(conn); len(answer) > 0 || err != nil {
		t.Fatalf("the server sent %q, %v, want the end of the connection", answer, err)
	}
	within(t, "0 connections", func() bool { return l.Status().Connections == 0 && w.metrics.Connections() == 0 })
}
