package terraform_test

import (
	"bytes"
	"context"
	"fmt"
	"github.com/varvedb/varve/tests/varvetest"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// clockFile is the file with the offset of the clock of the programs under test. They read it
// from their working folder.
const clockFile = "clock"

// program builds the program once, and returns its path.
var program = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "varve-terraform-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "varve")
	cmd := exec.Command("go", "build", "-C", filepath.Join("..", ".."), "-trimpath", "-ldflags", "-X main.testClock="+clockFile, "-o", path, "./cmd/varve")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, text)
	}
	return path, nil
})

func varve(t *testing.T) string {
	t.Helper()
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// setClock moves the clock of the programs in a folder ahead of the real time.
func setClock(t *testing.T, dir string, ahead time.Duration) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, clockFile), []byte(ahead.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}

// serve starts varve serve with the configuration file in a folder.
func serve(t *testing.T, dir string, args ...string) *varvetest.Server {
	t.Helper()
	s, err := varvetest.Start(context.WithoutCancel(t.Context()), varve(t), dir, append([]string{"--config", "varve.json"}, args...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Errorf("%v\n%s", err, s.Output())
		}
		if t.Failed() {
			t.Log(s.Output())
		}
	})
	return s
}

// write sends a reading of a device. It returns the status and body of the answer.
func write(t *testing.T, url, device string, at time.Time) (int, string) {
	t.Helper()
	return call(t, http.MethodPost, url+"/v1/streams/weather/readings",
		fmt.Sprintf(`{"device":%q,"time":%q,"fields":{"temperature":22.50}}`, device, at.UTC().Format(time.RFC3339)))
}

// query requests the readings of a device. It returns the status and body of the answer.
func query(t *testing.T, url, device string) (int, string) {
	t.Helper()
	return call(t, http.MethodGet, url+"/v1/streams/weather/devices/"+device+"/readings", "")
}

func call(t *testing.T, method, url, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if err := resp.Body.Close(); err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(bytes.TrimSpace(text))
}

// unready starts varve serve with credentials that may not rotate, and waits until it answers
// requests. Such a server never becomes ready.
func unready(t *testing.T, dir string, args ...string) (url string) {
	t.Helper()
	addr := free(t)
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	cmd := exec.CommandContext(ctx, varve(t), append([]string{"serve", "--config", "varve.json", "--listen", addr}, args...)...)
	var out bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		_ = cmd.Wait() // fails, because the process was killed
		if t.Failed() {
			t.Log(out.String())
		}
	})
	answers := func() bool {
		resp, err := http.Get("http://" + addr + "/metrics") // unlike /healthz, it answers only when the store is open
		return err == nil && resp.Body.Close() == nil && resp.StatusCode == http.StatusOK
	}
	if !varvetest.Eventually(answers) {
		t.Fatal("varve serve does not answer")
	}
	return "http://" + addr
}
