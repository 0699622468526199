package mqtt_test

import (
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/varvedb/varve"
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

// expect reads as many bytes from a connection as the wanted text has, and compares them with it.
func expect(t *testing.T, conn net.Conn, want string) {
	t.Helper()
	got := make([]byte, len(want))
	if n, err := io.ReadFull(conn, got); string(got) != want {
		t.Fatalf("the server sent %q, %v, want %q", got[:n], err, want)
	}
}

// TestListener_ForgetsRefusedDevices connects a device that accepts only packets shorter than the server's
// first answer. The server must close the connection without an answer. After that, the device must not
// count as connected.
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

// Packets of MQTT 3.1.1.
const (
	hello3   = "\x10\x0d\x00\x04MQTT\x04\x00\x00\x1e\x00\x01c" // keeps the session
	welcome3 = "\x20\x02\x00\x00"
	resumed3 = "\x20\x02\x01\x00"
)

// publish3 returns a packet with a message of QoS 2. Its topic is varve/w/d1.
func publish3(id uint16, payload string) string {
	body := "\x00\x0avarve/w/d1" + string([]byte{byte(id >> 8), byte(id)}) + payload
	return "\x34" + string([]byte{byte(len(body))}) + body
}

func pubrec3(id uint16) string { return "\x50\x02" + string([]byte{byte(id >> 8), byte(id)}) }

// TestListener_StoresReusedPacketIDs checks that a new message of QoS 2 is stored although its packet id is
// in use. A device that loses its memory between PUBREC and PUBREL sends such messages.
func TestListener_StoresReusedPacketIDs(t *testing.T) {
	w := newWorld(t, 10)
	address := w.listen(t)
	conn := dialRaw(t, address, hello3+publish3(1, reading(1)))
	expect(t, conn, welcome3+pubrec3(1))
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	conn = dialRaw(t, address, hello3)
	expect(t, conn, resumed3+pubrec3(1)) // the server resends the answer that may have been lost
	if _, err := io.WriteString(conn, publish3(1, reading(2))); err != nil {
		t.Fatal(err)
	}
	expect(t, conn, pubrec3(1))
	if n := w.stored(t, varve.DefaultTenant, "d1"); n != 2 {
		t.Errorf("%d readings are stored, want 2", n)
	}
}

// Packets of MQTT 5.
const (
	hello5   = "\x10\x13\x00\x04MQTT\x05\x00\x00\x1e\x05\x11\x00\x00\x00\x3c\x00\x01c" // keeps the session for a minute
	welcome5 = "\x20\x06\x00\x00\x03\x21\x00\x64"
	resumed5 = "\x20\x06\x01\x00\x03\x21\x00\x64"
	pubrec5  = "\x50\x02\x00\x01"
	pubrel5  = "\x62\x02\x00\x01"
	pubcomp5 = "\x70\x02\x00\x01"
)

// publish5 returns a packet with a message of QoS 2 and the packet id 1. The argument "header" is its first
// byte.
func publish5(header byte, topic, payload string) string {
	body := "\x00" + string([]byte{byte(len(topic))}) + topic + "\x00\x01\x00" + payload
	return string([]byte{header, byte(len(body))}) + body
}

// TestListener_ConfirmsDuplicatesOfQoS2 checks that a device of MQTT 5 that resends a message of QoS 2 gets
// the code of success. The message must be stored once.
func TestListener_ConfirmsDuplicatesOfQoS2(t *testing.T) {
	w := newWorld(t, 10)
	address := w.listen(t)
	conn := dialRaw(t, address, hello5+publish5(0x34, "varve/w/d1", `{"a":1}`))
	expect(t, conn, welcome5+pubrec5)
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	conn = dialRaw(t, address, hello5+publish5(0x3c, "varve/w/d1", `{"a":1}`))
	expect(t, conn, resumed5+pubrec5) // the server resends the answer that may have been lost
	expect(t, conn, pubrec5)
	if _, err := io.WriteString(conn, pubrel5); err != nil {
		t.Fatal(err)
	}
	expect(t, conn, pubcomp5)
	if n := w.stored(t, varve.DefaultTenant, "d1"); n != 1 {
		t.Errorf("%d readings are stored, want 1", n)
	}
}

// TestListener_CompletesUnmatchedQoS2 checks that a message of QoS 2 on a topic without a pattern ends with
// PUBCOMP and the code of success. Its PUBREC has the code 0x10, after which devices send PUBREL.
func TestListener_CompletesUnmatchedQoS2(t *testing.T) {
	conn := dialRaw(t, newWorld(t, 10).listen(t), hello5+publish5(0x34, "other", `{"a":1}`))
	expect(t, conn, welcome5+"\x50")
	length := make([]byte, 1)
	if _, err := io.ReadFull(conn, length); err != nil {
		t.Fatal(err)
	}
	rest := make([]byte, length[0])
	if _, err := io.ReadFull(conn, rest); err != nil || !strings.HasPrefix(string(rest), "\x00\x01\x10") {
		t.Fatalf("PUBREC has %q, %v, want the packet id 1 and the code 0x10", rest, err)
	}
	if _, err := io.WriteString(conn, pubrel5); err != nil {
		t.Fatal(err)
	}
	expect(t, conn, pubcomp5)
}

// TestListener_AcceptsManyOpenMessages checks that an MQTT 3.1.1 device may have more open messages than
// the limit for MQTT 5 devices. That must also hold after the device has resumed its session.
func TestListener_AcceptsManyOpenMessages(t *testing.T) {
	w := newWorld(t, 10)
	address := w.listen(t)
	const open = 150
	for _, welcome := range []string{welcome3, resumed3} {
		conn := dialRaw(t, address, hello3)
		expect(t, conn, welcome)
		if welcome == resumed3 {
			expect(t, conn, pubrec3(1))
		}
		for id := range uint16(open) {
			if _, err := io.WriteString(conn, publish3(id+2, reading(1))); err != nil {
				t.Fatal(err)
			}
			expect(t, conn, pubrec3(id+2))
		}
		// One message stays open, so that the server keeps the session.
		for id := range uint16(open) {
			pubrel := "\x62\x02" + pubrec3(id + 2)[2:]
			if _, err := io.WriteString(conn, pubrel); err != nil {
				t.Fatal(err)
			}
			expect(t, conn, "\x70\x02"+pubrec3(id + 2)[2:])
		}
		if _, err := io.WriteString(conn, publish3(1, reading(1))); err != nil {
			t.Fatal(err)
		}
		expect(t, conn, pubrec3(1))
		if err := conn.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestListener_AcceptsLongKeepAlive checks that keep-alives above 43,690 s are reduced to this value. The
// server closes a connection after 1.5 keep-alives, and counts these seconds in 16 bits.
func TestListener_AcceptsLongKeepAlive(t *testing.T) {
	w := newWorld(t, 10)
	address := w.listen(t)
	const ping, pong = "\xc0\x00", "\xd0\x00"
	conn := dialRaw(t, address, "\x10\x0d\x00\x04MQTT\x04\x02\xaa\xab\x00\x01c"+ping)
	expect(t, conn, welcome3+pong)
	conn = dialRaw(t, address, "\x10\x0e\x00\x04MQTT\x05\x02\xaa\xab\x00\x00\x01d"+ping)
	answer, err := io.ReadAll(io.LimitReader(conn, 2))
	if err != nil || len(answer) != 2 {
		t.Fatalf("the server sent %q, %v, want CONNACK", answer, err)
	}
	rest := make([]byte, answer[1])
	if _, err := io.ReadFull(conn, rest); err != nil || !strings.Contains(string(rest), "\x13\xaa\xaa") {
		t.Errorf("CONNACK has %q, %v, want the server keep-alive 43690", rest, err)
	}
	expect(t, conn, pong)
}
