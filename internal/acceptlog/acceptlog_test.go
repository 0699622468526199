package acceptlog_test

import (
	"bytes"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/varvedb/varve/internal/acceptlog"
)

type failing struct {
	net.Listener
	err error
}

func (f *failing) Accept() (net.Conn, error) { return nil, f.err }

func (f *failing) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8278} }

// TestListener_LogsFailuresOnceAMinute fails several times. The log must have the first failure, and after a
// minute the next one with the number of omitted failures. The end of a listener is not a failure.
func TestListener_LogsFailuresOnceAMinute(t *testing.T) {
	var out bytes.Buffer
	now := time.Date(2026, 11, 18, 12, 0, 0, 0, time.UTC)
	inner := &failing{err: &net.OpError{Op: "accept", Net: "tcp", Err: syscall.EMFILE}}
	l := acceptlog.New(inner, zerolog.New(&out), func() time.Time { return now })
	accept := func(after time.Duration) {
		t.Helper()
		now = now.Add(after)
		if _, err := l.Accept(); err != inner.err { //nolint:errorlint // the error itself
			t.Errorf("the error is %v, want %v", err, inner.err)
		}
	}
	accept(0)
	accept(time.Second)
	accept(58 * time.Second)
	accept(time.Second) // a minute after the first failure
	accept(-time.Hour)  // the clock was set back
	inner.err = net.ErrClosed
	accept(time.Hour)
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 3 {
		t.Fatalf("the log has %d entries, want 3:\n%s", len(lines), out.String())
	}
	for i, want := range []string{`"omitted":0`, `"omitted":2`, `"omitted":0`} {
		if !strings.Contains(lines[i], want) || !strings.Contains(lines[i], "too many open files") || !strings.Contains(lines[i], `"address":"127.0.0.1:8278"`) {
			t.Errorf("entry %d is %s, want %s", i, lines[i], want)
		}
	}
}

func TestListener_AcceptsConnections(t *testing.T) {
	var out bytes.Buffer
	var lc net.ListenConfig
	inner, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := acceptlog.New(inner, zerolog.New(&out), time.Now)
	var d net.Dialer
	client, err := d.DialContext(t.Context(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.Close(); err != nil {
		t.Error(err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if _, err := l.Accept(); err == nil || out.Len() > 0 {
		t.Errorf("after the end: %v, log %s", err, out.String())
	}
}
