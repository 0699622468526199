package e2e

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/varvedb/varve/tests/varvetest"
)

const (
	slowReadings = 5000                   // number of readings of about 100 bytes each; together, they exceed the buffers of a connection
	slowMemory   = 300 << 20              // largest resident memory of the server with all slow readers
	slowHealth   = 100 * time.Millisecond // limit for the fastest of several answers of /healthz, with all slow readers
	slowPath     = "/v1/streams/fleet/devices/d0/readings"
)

// TestSlowReaders_LeaveServerUsable opens many connections that request all readings, and does
// not read the answers. The server must refuse reads above limits.reads. It must need little
// memory, and must stay healthy and accept writes.
func TestSlowReaders_LeaveServerUsable(t *testing.T) {
	clients, limit := 1500, 512 // 512 is the default of limits.reads
	args := []string{"--set", "limits.stall=15m"}
	if testing.Short() {
		clients, limit = 240, 80
		args = append(args, "--set", fmt.Sprintf("limits.reads=%d", limit))
	}
	raiseFileLimit(t, clients+200)
	s := start(t, t.TempDir(), args...)
	if status, text := send(t, http.MethodPost, s.URL+"/v1/streams/fleet/readings", noise(0, slowReadings)); status != http.StatusOK {
		t.Fatalf("write: %d: %s", status, text)
	}
	before := residentMemory(t, s.PID())
	statuses := map[string]int{}
	for _, status := range openSlowReaders(t, s, clients) {
		statuses[status]++
	}
	if statuses["200"] != limit || statuses["429"] != clients-limit {
		t.Errorf("%d slow readers got %v, want %d times 200 and otherwise 429", clients, statuses, limit)
	}
	checkUsable(t, s)
	memory := residentMemory(t, s.PID())
	if memory > slowMemory {
		t.Errorf("the server has %d MiB of resident memory, want %d", memory>>20, slowMemory>>20)
	}
	t.Logf("resident memory: %d MiB, before %d MiB", memory>>20, before>>20)
}

// checkUsable checks a server that has as many reads as limits.reads allows.
func checkUsable(t *testing.T, s *varvetest.Server) {
	t.Helper()
	if status, text := send(t, http.MethodGet, s.URL+slowPath, ""); status != http.StatusTooManyRequests || !strings.Contains(text, "Retry-After: 1\r\n") {
		t.Errorf("a further read: %d: %.300s: want 429 with Retry-After", status, text)
	}
	took := time.Hour
	for range 20 {
		begin := time.Now()
		if status, text := send(t, http.MethodGet, s.URL+"/healthz", ""); status != http.StatusOK {
			t.Fatalf("/healthz: %d: %s", status, text)
		}
		took = min(took, time.Since(begin))
	}
	if took > slowHealth {
		t.Errorf("/healthz took %s at best, want %s", took, slowHealth)
	}
	if status, text := send(t, http.MethodPost, s.URL+"/v1/streams/fleet/readings", noise(1, 1)); status != http.StatusOK {
		t.Errorf("a write: %d: %s", status, text)
	}
}

// openSlowReaders requests all readings on n connections, some as JSON and some as CSV. When each
// answer has begun, it returns their statuses. The connections remain open until the end of the
// test.
func openSlowReaders(t *testing.T, s *varvetest.Server, n int) (statuses []string) {
	t.Helper()
	statuses = make([]string, n)
	next, group := make(chan int), sync.WaitGroup{}
	for range 32 {
		group.Go(func() {
			for i := range next {
				format := []string{"json", "csv"}[i%2]
				status, err := openSlowReader(t, s, format)
				if err != nil {
					t.Errorf("slow reader %d: %v", i, err)
				}
				statuses[i] = status
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	group.Wait()
	return statuses
}

// openSlowReader sends one request and returns the status of the answer. It does not read the
// answer, which fills the small buffers of the connection.
func openSlowReader(t *testing.T, s *varvetest.Server, format string) (status string, err error) {
	d := net.Dialer{Control: shrinkBuffers}
	host := strings.TrimPrefix(s.URL, "http://")
	conn, err := d.DialContext(t.Context(), "tcp", host)
	if err != nil {
		return "", err
	}
	t.Cleanup(func() { _ = conn.Close() }) // the server may have closed it
	if _, err := fmt.Fprintf(conn, "GET %s?format=%s HTTP/1.1\r\nHost: %s\r\n\r\n", slowPath, format, host); err != nil {
		return "", err
	}
	if err := conn.SetReadDeadline(time.Now().Add(3 * time.Minute)); err != nil {
		return "", err
	}
	return peekStatus(conn.(*net.TCPConn))
}

// shrinkBuffers gives a connection a small receive buffer and small segments. The kernel also
// chooses the server's send buffer by the size of segments. Larger buffers would have room for a
// whole answer, so that the server would not have to wait.
func shrinkBuffers(_, _ string, raw syscall.RawConn) error {
	var set error
	err := raw.Control(func(fd uintptr) {
		set = errors.Join(
			syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 4<<10),
			syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, syscall.TCP_MAXSEG, 536),
		)
	})
	return errors.Join(err, set)
}

// peekStatus returns the status of an answer, and leaves the answer in the receive buffer.
func peekStatus(conn *net.TCPConn) (status string, err error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return "", err
	}
	head, n, failed := make([]byte, len("HTTP/1.1 200")), 0, error(nil)
	err = raw.Read(func(fd uintptr) bool {
		n, _, failed = syscall.Recvfrom(int(fd), head, syscall.MSG_PEEK)
		return failed != syscall.EAGAIN //nolint:errorlint // Recvfrom returns the bare error of the system call
	})
	if err != nil {
		return "", err
	}
	if failed != nil || n < len(head) {
		return "", fmt.Errorf("peek: %q, %w", head[:max(n, 0)], failed)
	}
	return string(head[len("HTTP/1.1 "):]), nil
}

// residentMemory returns the resident memory of a process, VmRSS in /proc.
func residentMemory(t *testing.T, pid int) int64 {
	t.Helper()
	f, err := os.Open(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }() // the file is only read
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var kib int64
		if _, err := fmt.Sscanf(lines.Text(), "VmRSS: %d kB", &kib); err == nil {
			return kib << 10
		}
	}
	t.Fatal("the status of the process has no VmRSS")
	return 0
}

// raiseFileLimit allows the process to open n files. If that is not permitted, it skips the test, or fails it
// with CI=true.
func raiseFileLimit(t *testing.T, n int) {
	t.Helper()
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	if limit.Cur >= uint64(n) {
		return
	}
	limit.Cur, limit.Max = uint64(n), max(limit.Max, uint64(n))
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		varvetest.SkipOutsideCI(t, "%d open files are not permitted: %v", n, err)
	}
}
