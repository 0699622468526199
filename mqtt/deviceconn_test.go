package mqtt_test

import (
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/varvedb/varve"
)

// TestListener_DisconnectsAtLongPackets sends a packet above the maximum after a message in the same
// write. The message must be stored. A device of MQTT 5 must get the reason code, even if it is still
// sending the packet.
func TestListener_DisconnectsAtLongPackets(t *testing.T) {
	w := newWorld(t, 10)
	address := w.listen(t)
	for name, c := range map[string]struct {
		hello, properties, device string
		isV5                      bool
	}{
		"MQTT 5":     {"\x10\x0f\x00\x04MQTT\x05\x02\x00\x1e\x00\x00\x02ab", "\x00", "d5", true},
		"MQTT 3.1.1": {"\x10\x0e\x00\x04MQTT\x04\x02\x00\x1e\x00\x02cd", "", "d3", false},
	} {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
			t.Fatal(err)
		}
		message := "\x00\x0avarve/w/" + c.device + "\x00\x01" + c.properties + reading(1)
		long := "\x30\xff\xff\xff\x7f" + strings.Repeat("x", 256<<10) // the beginning of a packet of 256 MiB
		// The connection may be closed before all bytes are sent.
		_, _ = io.WriteString(conn, c.hello+"\x32"+string(rune(len(message)))+message+long)
		answer, err := io.ReadAll(conn)
		var e net.Error
		if errors.As(err, &e) && e.Timeout() {
			t.Errorf("%s: the connection stays open", name)
		}
		const tooLarge = "\xe0\x02\x95\x00"
		if got := strings.HasSuffix(string(answer), tooLarge); got != c.isV5 || c.isV5 && err != nil {
			t.Errorf("%s: %q, %v, want %q at the end: %t", name, answer, err, tooLarge, c.isV5)
		}
		_ = conn.Close()
		within(t, "the message before the long packet", func() bool { return w.stored(t, varve.DefaultTenant, c.device) == 1 })
	}
}
