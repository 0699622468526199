//go:build linux

package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"
)

// terminal opens a pseudo-terminal. It returns the end that a program uses as its terminal, and a
// function that returns the program's output.
func terminal(t *testing.T) (*os.File, func() string) {
	t.Helper()
	return terminalOf(t, 24, 80)
}

// endOfOutput is written to a terminal after the output of the tested program. That output never
// contains it.
const endOfOutput = 0

func openTerminal(t *testing.T, rows, columns uint16) (master, slave *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("there are no pseudo-terminals here: %v", err)
	}
	number, unlock := uint32(0), int32(0)
	control(t, master, syscall.TIOCSPTLCK, unsafe.Pointer(&unlock))
	control(t, master, syscall.TIOCGPTN, unsafe.Pointer(&number))
	slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	size := [4]uint16{rows, columns}
	control(t, slave, syscall.TIOCSWINSZ, unsafe.Pointer(&size))
	return master, slave
}

// terminalOf is like terminal, with a number of rows and columns.
func terminalOf(t *testing.T, rows, columns uint16) (*os.File, func() string) {
	t.Helper()
	master, slave := openTerminal(t, rows, columns)
	var text bytes.Buffer
	read := make(chan struct{})
	go func() {
		defer close(read)
		for r := bufio.NewReader(master); ; {
			c, err := r.ReadByte()
			if err != nil || c == endOfOutput {
				return
			}
			text.WriteByte(c)
		}
	}()
	var once sync.Once
	end := func() string {
		once.Do(func() {
			// Closing the terminal can discard output that was not read yet.
			if _, err := slave.Write([]byte{endOfOutput}); err != nil {
				t.Error(err)
			}
			<-read
			slave.Close()
			master.Close()
		})
		return text.String()
	}
	t.Cleanup(func() { end() })
	return slave, end
}

func control(t *testing.T, f *os.File, request uintptr, arg unsafe.Pointer) {
	t.Helper()
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), request, uintptr(arg)); errno != 0 {
		t.Fatal(errno)
	}
}

// TestProgress_EndsAfterFailure checks that ingest ends on a terminal, even if it fails. The bar must be
// full if all readings were sent.
func TestProgress_EndsAfterFailure(t *testing.T) {
	const good, reject = "time,a\n2026-01-01T00:00:00Z,1\n", `{"stored":0,"duplicates":0,"rejected":1,"rejects":[{"index":0,"line":2,"code":"time_invalid","message":"no time"}]}`
	rows := []struct {
		why, file, answer string
		status, exit      int
		says              string
	}{
		{"success", good, `{"stored":1,"duplicates":0,"rejected":0}`, http.StatusOK, exitOK, "100 %"},
		{"nothing but a header", "time,a\n", "", http.StatusOK, exitOK, "100 %"},
		{"an empty array", "[]", "", http.StatusOK, exitOK, "100 %"},
		{"rejects", good, reject, http.StatusUnprocessableEntity, exitRejected, "s1.csv:2: time_invalid: no time"},
		{"an error", good, `{"detail":"the disk is broken"}`, http.StatusInternalServerError, exitFailure, "s1.csv: the disk is broken"},
		{"a mistake", good, `{"detail":"\"x\" is unknown","errors":[{"location":"query.timezone"}]}`, http.StatusBadRequest, exitUsage, `--timezone: "x" is unknown`},
		{"interrupt", good, "", 0, exitFailure, "varve: interrupted"},
	}
	for _, row := range rows {
		t.Run(row.why, func(t *testing.T) {
			ctx, interrupt := context.WithCancel(t.Context())
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body) // the server notices a disconnected client only after it has read the body
				if row.status == 0 {
					interrupt()
					<-r.Context().Done()
					return
				}
				w.WriteHeader(row.status)
				_, _ = io.WriteString(w, row.answer)
			}))
			defer server.Close()
			path := filepath.Join(t.TempDir(), "s1.csv")
			if err := os.WriteFile(path, []byte(row.file), 0o600); err != nil {
				t.Fatal(err)
			}
			tty, shown := terminal(t)
			args := []string{"ingest", "--server", server.URL, "--stream", "s", path}
			if row.file == "[]" {
				args = append(args, "--format", "json")
			}
			code := endsWith(t, ctx, args, std{in: strings.NewReader(""), out: io.Discard, err: tty, terminal: true})
			if text := shown(); code != row.exit || !strings.Contains(text, row.says) {
				t.Errorf("exit code %d, want %d and %q:\n%s", code, row.exit, row.says, text)
			}
		})
	}
}

// endsWith runs a command that must end, and returns its exit code.
func endsWith(t *testing.T, ctx context.Context, args []string, s std) int {
	t.Helper()
	done := make(chan int, 1)
	go func() { done <- execute(ctx, args, s) }()
	select {
	case code := <-done:
		return code
	case <-time.After(time.Minute):
		t.Fatalf("varve %s does not end", strings.Join(args, " "))
		return 0
	}
}

// TestIngest_EndsOnInterrupt checks that Ctrl-C ends an ingest that waits for an empty pipe.
func TestIngest_EndsOnInterrupt(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	in, pipe := io.Pipe()
	defer pipe.Close()
	go func() {
		_, _ = io.WriteString(pipe, "{") // returns when ingest has read the text
		interrupt()
	}()
	tty, shown := terminal(t)
	args := []string{"ingest", "--server", "http://127.0.0.1:1", "--stream", "s", "--format", "ndjson", "-"}
	if code := endsWith(t, ctx, args, std{in: in, out: io.Discard, err: tty, terminal: true}); code != exitFailure {
		t.Errorf("exit code %d", code)
	}
	if text := shown(); !strings.Contains(text, "varve: interrupted") {
		t.Error(text)
	}
}
