package doors

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/varvedb/varve/tests/varvetest"
)

type broker struct {
	address string
	command func() *exec.Cmd
	end     os.Signal // signal that ends the broker without the loss of acknowledged messages
	cmd     *exec.Cmd
	output  bytes.Buffer
}

// url returns the value of the setting mqtt.url.
func (b *broker) url() string { return "mqtt://" + b.address }

func (b *broker) port() string { return b.address[strings.LastIndexByte(b.address, ':')+1:] }

// start starts the broker, and waits until it accepts connections.
func (b *broker) start(t *testing.T) {
	t.Helper()
	b.cmd = b.command()
	b.cmd.Stdout, b.cmd.Stderr = &b.output, &b.output
	if err := b.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	accepts := func() bool {
		conn, err := net.Dial("tcp", b.address)
		return err == nil && conn.Close() == nil
	}
	if !varvetest.Eventually(accepts) {
		t.Fatalf("the broker does not start: %s", b.output.Bytes())
	}
}

// stop ends the broker with a signal. After SIGTERM, Mosquitto writes its messages to a file before it ends.
func (b *broker) stop(t *testing.T, signal os.Signal) {
	t.Helper()
	if err := b.cmd.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := b.cmd.Wait(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
}

func runBroker(t *testing.T, b *broker) *broker {
	t.Helper()
	b.start(t)
	t.Cleanup(func() {
		b.stop(t, syscall.SIGTERM)
		if t.Failed() {
			t.Logf("the broker: %s", b.output.Bytes())
		}
	})
	return b
}

// goodMosquitto has the settings of docs/mqtt.md.
const goodMosquitto = "max_inflight_messages 1000\nmax_queued_messages 0\npersistence true\n"

// goodNATS has the settings of docs/mqtt.md.
const goodNATS = "max_ack_pending: 1000"

func startMosquitto(t *testing.T, settings string) *broker {
	t.Helper()
	program := debian(t, "sbin/mosquitto")
	dir, address := t.TempDir(), freeAddress(t)
	config := filepath.Join(dir, "mosquitto.conf")
	port := address[strings.LastIndexByte(address, ':')+1:]
	text := fmt.Sprintf("listener %s 127.0.0.1\nallow_anonymous true\nsys_interval 1\nuser root\npersistence_location %s/\n%s", port, dir, settings)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	// End Mosquitto with SIGTERM. After SIGKILL, it has lost messages that it had acknowledged.
	return runBroker(t, &broker{address: address, end: syscall.SIGTERM, command: func() *exec.Cmd { return withDebian(t, program, "-c", config) }})
}

// startAedes starts Aedes, a broker without MQTT 5.
func startAedes(t *testing.T) *broker {
	t.Helper()
	b := &broker{address: freeAddress(t)}
	b.command = func() *exec.Cmd { return node(t, "node", "aedes.mjs", b.port()) }
	return runBroker(t, b)
}

// startNATS starts a NATS server, which stores MQTT messages in its streams. It acknowledges a message
// after it has written the message to a file.
func startNATS(t *testing.T) *broker {
	t.Helper()
	program := debian(t, "sbin/nats-server")
	dir, address := t.TempDir(), freeAddress(t)
	config := filepath.Join(dir, "nats.conf")
	text := fmt.Sprintf("server_name: varve\nlisten: %q\njetstream { store_dir: %q }\nmqtt { listen: %q, %s }\n", freeAddress(t), dir, address, goodNATS)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	// End NATS with SIGKILL. After SIGTERM, NATS 2.9 acknowledges messages while it ends, and loses them.
	return runBroker(t, &broker{address: address, end: syscall.SIGKILL, command: func() *exec.Cmd { return exec.Command(program, "-c", config) }})
}

// withDebian returns a command that runs a program of a Debian package with its libraries.
func withDebian(t *testing.T, program string, args ...string) *exec.Cmd {
	t.Helper()
	libraries, err := filepath.Glob(filepath.Join(debian(t, "lib"), "*-linux-gnu*"))
	if err != nil || len(libraries) == 0 {
		t.Fatalf("%s has no libraries: %v", debian(t, "lib"), err)
	}
	cmd := exec.Command(program, args...)
	cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+strings.Join(libraries, ":"))
	return cmd
}

func freeAddress(t *testing.T) string {
	t.Helper()
	address, err := varvetest.FreeAddress()
	if err != nil {
		t.Fatal(err)
	}
	return address
}
