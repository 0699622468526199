package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/varvedb/varve/agent"
	"github.com/varvedb/varve/tests/varvetest"
)

var (
	killsFlag  = flag.Int("kills", 0, "number of kills of the agent; 0 means the usual number")
	withinFlag = flag.Duration("within", 4*time.Minute, "time after which no further kill begins")
)

func TestMain(m *testing.M) {
	flag.Parse()
	if err := varvetest.InMemory(m.Run); err != nil {
		panic(err)
	}
}

// build compiles the program in a folder below cmd, and returns its path.
func build(t *testing.T, dir, program string, environ ...string) string {
	t.Helper()
	out := filepath.Join(dir, program)
	cmd := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", out, "github.com/varvedb/varve/cmd/"+program)
	cmd.Env = append(append(os.Environ(), "CGO_ENABLED=0"), environ...)
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, text)
	}
	return out
}

func freeAddress(t *testing.T) string {
	t.Helper()
	address, err := varvetest.FreeAddress()
	if err != nil {
		t.Fatal(err)
	}
	return address
}

// program is a server or an agent that is started and killed many times, always at the same address.
type program struct {
	path, address string
	args          []string
	environ       []string

	mu     sync.Mutex
	cmd    *exec.Cmd
	exited chan struct{}
	output bytes.Buffer
}

func (p *program) url() string { return "http://" + p.address }

// start starts the program, and waits until it answers.
func (p *program) start(t *testing.T) {
	t.Helper()
	p.mu.Lock()
	p.cmd, p.exited = exec.Command(p.path, p.args...), make(chan struct{})
	p.output.Reset()
	p.cmd.Stdout, p.cmd.Stderr = &p.output, &p.output
	p.cmd.Env = append(os.Environ(), p.environ...)
	cmd, exited := p.cmd, p.exited
	p.mu.Unlock()
	if err := varvetest.StartChild(cmd); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = cmd.Wait() // fails, because the program is killed
		close(exited)
	}()
	ready := varvetest.Eventually(func() bool {
		select {
		case <-exited:
			return true
		default:
			_, err := get(context.Background(), p.url()+"/readyz")
			return err == nil
		}
	})
	if _, err := get(t.Context(), p.url()+"/readyz"); !ready || err != nil {
		p.kill()
		t.Fatalf("%s is not ready: %v\n%s", p.path, err, p.output.String())
	}
}

func (p *program) kill() {
	p.mu.Lock()
	cmd, exited := p.cmd, p.exited
	p.mu.Unlock()
	if cmd != nil {
		_ = cmd.Process.Kill() // fails if the program has ended
		<-exited
	}
}

func get(ctx context.Context, url string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(resp.Body)
	if err := errors.Join(err, resp.Body.Close()); err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", resp.Status, text)
	}
	return text, nil
}

func health(ctx context.Context, url string) (h agent.Health, err error) {
	text, err := get(ctx, url+"/healthz")
	if err == nil {
		err = json.Unmarshal(text, &h)
	}
	return h, err
}

// empties waits until the agent has sent all readings.
func empties(t *testing.T, url string) {
	t.Helper()
	var h agent.Health
	var err error
	if !varvetest.Eventually(func() bool {
		h, err = health(t.Context(), url)
		return err == nil && h.Outbox.Readings == 0
	}) {
		t.Fatalf("the agent has not sent all readings: %+v, %v", h, err)
	}
}

var compared = regexp.MustCompile(`(?m)^varve_agent_compared_readings_total (\S+)$`)

// compares waits until the agent has compared a number of confirmed readings with the server.
func compares(t *testing.T, url string, readings int) {
	t.Helper()
	n := 0.0
	if !varvetest.Eventually(func() bool {
		text, err := get(t.Context(), url+"/metrics")
		if err != nil {
			return false
		}
		if found := compared.FindSubmatch(text); found != nil {
			n, err = strconv.ParseFloat(string(found[1]), 64)
		}
		return err == nil && n >= float64(readings)
	}) {
		t.Fatalf("the agent has compared %.0f readings, want %d", n, readings)
	}
}

// newServer returns a server that is not started yet.
func newServer(t *testing.T, binary, dir string) *program {
	p := &program{path: binary, address: freeAddress(t)}
	p.args = []string{"serve", "--listen", p.address, "--data", filepath.Join(dir, "data"), "--log-level", "warn", "--set", "store.min_free=0", "--set", "classes.default.retention=3650d"}
	t.Cleanup(p.kill)
	return p
}

// newAgent returns an agent that sends to a server. The agent is not started yet.
func newAgent(t *testing.T, binary, dir string, server *program, args ...string) *program {
	p := &program{path: binary, address: freeAddress(t)}
	p.args = append([]string{"--listen", p.address, "--server", server.url(), "--dir", filepath.Join(dir, "outbox"), "--log-level", "warn"}, args...)
	t.Cleanup(p.kill)
	return p
}
