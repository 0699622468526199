// Package varvetest builds and runs the real program for tests.
//
//   - [Build] builds the program, and [Start] runs a [Server] on a free port.
//   - [Eventually] waits for a condition, and [FreeAddress] returns an address for another program.
//   - [InMemory] puts temporary folders into memory.
//
// Start returns after the server is ready, or fails. A Server is killed when its context ends.
// [Server.Kill] ends it at once, and [Server.Stop] lets it finish. [Server.Output] may be called
// while it runs.
package varvetest

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync"
	"syscall"
	"time"
)

// Build builds varve into a folder and returns the path of the program. If clockFile is not
// empty, the program reads the offset of its clock from that file.
func Build(ctx context.Context, dir, clockFile string) (string, error) {
	out := filepath.Join(dir, "varve")
	args := []string{"build", "-trimpath", "-o", out}
	if clockFile != "" {
		args = append(args, "-ldflags", "-X main.testClock="+clockFile)
	}
	cmd := exec.CommandContext(ctx, "go", append(args, "github.com/varvedb/varve/cmd/varve")...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, text)
	}
	return out, nil
}

// Server is a running varve serve.
type Server struct {
	URL    string
	client *http.Client
	cmd    *exec.Cmd
	output lockedBuffer
	exited chan struct{}
	err    error
}

// lockedBuffer has the output of a program. It can be read while the program runs.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// readyWithin is the timeout for the start of a server, and the timeout of Eventually. It is much
// longer than even a busy machine needs.
const readyWithin = 3 * time.Minute

// greeting matches the line in which a server prints its port. A server chooses its port itself,
// so that no test waits for the answers of another server.
var greeting = regexp.MustCompile(`(?m)^  API +https?://\S+:([0-9]+) `)

// Start starts varve serve in a folder, on a free port, and waits until it is ready.
//
// The server is killed when ctx is done.
func Start(ctx context.Context, binary, dir string, args ...string) (*Server, error) {
	return StartAt(ctx, binary, dir, Reach{}, args...)
}

// Reach defines the address, the protocol and the environment of a server.
type Reach struct {
	Listen string       // address without a port; the default is 127.0.0.1
	TLS    *http.Client // client that trusts the server's certificate; if nil, the server has no TLS
	// Environ has variables in addition to the environment of the test.
	Environ []string
}

// StartAt is like Start, but with the address, the protocol and the environment of a Reach.
func StartAt(ctx context.Context, binary, dir string, reach Reach, args ...string) (*Server, error) {
	s := &Server{URL: "http://127.0.0.1:", client: http.DefaultClient, exited: make(chan struct{})}
	if reach.TLS != nil {
		s.URL, s.client = "https://127.0.0.1:", reach.TLS
	}
	listen := net.JoinHostPort(cmp.Or(reach.Listen, "127.0.0.1"), "0")
	s.cmd = exec.CommandContext(ctx, binary, append([]string{"serve", "--listen", listen}, args...)...)
	s.cmd.Dir, s.cmd.Env = dir, append(os.Environ(), reach.Environ...)
	s.cmd.Stdout, s.cmd.Stderr = &s.output, &s.output
	if err := StartChild(s.cmd); err != nil {
		return nil, err
	}
	go func() {
		s.err = s.cmd.Wait()
		close(s.exited)
	}()
	if err := s.waitReady(ctx); err != nil {
		return nil, errors.Join(err, s.Kill())
	}
	return s, nil
}

func (s *Server) waitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	var port []string
	for {
		select {
		case <-s.exited:
			return fmt.Errorf("varve serve ended before it was ready: %w\n%s", s.err, s.Output())
		case <-ctx.Done():
			return fmt.Errorf("varve serve is not ready after %s\n%s", readyWithin, s.Output())
		case <-tick.C:
		}
		if port == nil {
			if port = greeting.FindStringSubmatch(s.Output()); port != nil {
				s.URL += port[1]
			}
		}
		if port != nil && s.ready(ctx) {
			return nil
		}
	}
}

func (s *Server) ready(ctx context.Context) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+"/readyz", nil)
	if err != nil {
		return false
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return false
	}
	_, err = io.Copy(io.Discard, resp.Body)
	return errors.Join(err, resp.Body.Close()) == nil && resp.StatusCode == http.StatusOK
}

// Output returns all output of the server so far.
func (s *Server) Output() string { return s.output.String() }

// PID returns the process id of the server.
func (s *Server) PID() int { return s.cmd.Process.Pid }

// Kill kills the server and waits for its end.
func (s *Server) Kill() error {
	err := s.cmd.Process.Kill()
	<-s.exited
	if errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return err
}

// Terminate sends SIGTERM to the server.
func (s *Server) Terminate() error { return s.cmd.Process.Signal(syscall.SIGTERM) }

// Hangup sends SIGHUP to the server.
func (s *Server) Hangup() error { return s.cmd.Process.Signal(syscall.SIGHUP) }

// Wait waits for the end of the server. It returns nil if the exit code is 0, otherwise the
// error.
func (s *Server) Wait() error {
	<-s.exited
	return s.err
}

// Stop sends SIGTERM to the server, and waits for its end like Wait.
func (s *Server) Stop() error {
	if err := s.Terminate(); err != nil {
		return err
	}
	return s.Wait()
}

// Eventually calls a function until it returns true. Eventually returns false if that takes longer
// than readyWithin.
func Eventually(is func() bool) bool {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	late := time.NewTimer(readyWithin)
	defer late.Stop()
	for !is() {
		select {
		case <-late.C:
			return false
		case <-tick.C:
		}
	}
	return true
}
