package main

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/varvedb/varve/tests/dynamotest"
)

// output is the output of a running program. It may be read concurrently.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

func serving(t *testing.T, args ...string) (server string, log *output, ended <-chan int) {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	log = &output{}
	done := make(chan int, 1)
	var wg sync.WaitGroup
	wg.Go(func() {
		done <- execute(ctx, append([]string{"serve", "--listen", address}, args...),
			std{in: strings.NewReader(""), out: io.Discard, err: log})
	})
	t.Cleanup(func() {
		cancel()
		wg.Wait()
	})
	return "http://" + address, log, done
}

// ask returns the answer to a GET; the status is 0 if the server is unreachable.
func ask(t *testing.T, url string) (status int, body string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, ""
	}
	text, err := io.ReadAll(resp.Body)
	if err := resp.Body.Close(); err != nil {
		t.Error(err)
	}
	if err != nil {
		return 0, ""
	}
	return resp.StatusCode, string(text)
}

func eventually(t *testing.T, otherwise string, is func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	late := time.NewTimer(90 * time.Second)
	defer late.Stop()
	for !is() {
		select {
		case <-tick.C:
		case <-late.C:
			t.Fatal(otherwise)
		}
	}
}

// TestServe_WaitsForDynamoDB checks that the service is alive and not ready while DynamoDB is
// unreachable. It must report the reason. When DynamoDB is reachable, it must become ready without a
// restart.
func TestServe_WaitsForDynamoDB(t *testing.T) {
	target, err := url.Parse(dynamotest.Dynoxide.Start(t))
	if err != nil {
		t.Fatal(err)
	}
	var reachable atomic.Bool
	proxy := httputil.NewSingleHostReverseProxy(target)
	way := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !reachable.Load() {
			panic(http.ErrAbortHandler)
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(way.Close)
	server, log, ended := serving(t, "--store", "dynamodb", "--set", "store.endpoint="+way.URL)
	eventually(t, "it does not say that the store cannot be reached", func() bool {
		status, body := ask(t, server+"/readyz")
		return status == http.StatusServiceUnavailable && strings.Contains(body, "the store cannot be reached")
	})
	if status, body := ask(t, server+"/healthz"); status != http.StatusOK || body != "ok\n" {
		t.Errorf("healthz: %d %q", status, body)
	}
	if status, body := ask(t, server+"/v1/tables"); status != http.StatusServiceUnavailable || !strings.Contains(body, "try again") {
		t.Errorf("any other route: %d %q", status, body)
	}
	if text := log.String(); !strings.Contains(text, "condition set") || !strings.Contains(text, "store_unreachable") {
		t.Errorf("log: %s", text)
	}
	reachable.Store(true)
	eventually(t, "it does not become ready by itself", func() bool {
		status, _ := ask(t, server+"/readyz")
		return status == http.StatusOK
	})
	if status, _ := ask(t, server+"/v1/tables"); status != http.StatusOK {
		t.Errorf("tables: %d", status)
	}
	select {
	case code := <-ended:
		t.Errorf("it ended with %d:\n%s", code, log)
	default:
	}
}

// TestServe_RefusesForeignRegistry checks that the service ends with the reason if the registry's
// name belongs to another table. A retry could not succeed.
func TestServe_RefusesForeignRegistry(t *testing.T) {
	endpoint := dynamotest.Dynoxide.Start(t)
	dynamotest.CreateTable(t, endpoint, "users")
	_, log, ended := serving(t, "--store", "dynamodb", "--set", "store.endpoint="+endpoint, "--set", "store.registry=users")
	select {
	case code := <-ended:
		if code != exitFailure || !strings.Contains(log.String(), "name another table with store.registry") {
			t.Errorf("ended with %d:\n%s", code, log)
		}
	case <-time.After(60 * time.Second):
		t.Errorf("it goes on:\n%s", log)
	}
}

func TestDoctor_ShowsConditions(t *testing.T) {
	server, _, _ := serving(t, "--data", t.TempDir(), "--set", "store.min_free=9000000GiB")
	eventually(t, "readiness does not tell that the disk is low", func() bool {
		status, body := ask(t, server+"/readyz")
		return status == http.StatusServiceUnavailable && strings.Contains(body, `"disk_low"`)
	})
	var out output
	code := execute(t.Context(), []string{"doctor", "--store", "mem", "--listen", strings.TrimPrefix(server, "http://")},
		std{in: strings.NewReader(""), out: &out, err: io.Discard})
	text := out.String()
	if code != exitFailure || !strings.Contains(text, "not ready: the disk is nearly full") || !strings.Contains(text, "condition disk_low") ||
		!strings.Contains(text, "are kept free: make room") {
		t.Errorf("exit code %d:\n%s", code, text)
	}
}
