package agent

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/varvedb/varve"
	"github.com/varvedb/varve/api/wire"
	"github.com/varvedb/varve/api/writes"
	"github.com/varvedb/varve/apikeys"
	"github.com/varvedb/varve/ingest"
	"github.com/varvedb/varve/internal/stall"
)

const (
	// requestLimit is the time limit of a request.
	requestLimit = 15 * time.Minute
	// stallLimit is how long the local API waits for a client that makes no progress.
	stallLimit = time.Minute
	// maxConnections is the maximum number of connections of each listener.
	maxConnections = 128
	// rejectBytes limits the size in bytes of the rejections in an answer of the local API.
	rejectBytes = 64 << 10
)

// linePaths maps each path of line protocol to the parameter that names the database. Errors on these
// paths have the form of InfluxDB's errors.
var linePaths = map[string]string{"/write": "db", "/api/v2/write": "bucket", "/api/v3/write_lp": "db"}

func (a *Agent) handler(newIngester func(door string) *ingest.Ingester) http.Handler {
	s := a.opts.Settings
	options := func(door string) writes.Options {
		return writes.Options{
			Ingester: newIngester(door), Lines: s.LineMapping(), Now: a.opts.Now, Fail: fail,
			MaxBody: int64(s.HTTP.MaxBody), RejectBytes: rejectBytes,
			Grant: func(*http.Request) *apikeys.Grant { return writer },
		}
	}
	readings, lines := &writes.Readings{Options: options("http")}, &writes.Lines{Options: options("influx")}
	slots := make(chan struct{}, s.HTTP.ConcurrentWrites)
	mux := http.NewServeMux()
	for _, pattern := range []string{"POST /v1/streams/{stream}/readings", "POST /v1/readings"} {
		mux.HandleFunc(pattern, limited(slots, readings.Post))
	}
	for path, database := range linePaths {
		mux.HandleFunc("POST "+path, limited(slots, func(w http.ResponseWriter, r *http.Request) { lines.Write(w, r, database) }))
	}
	mux.HandleFunc("GET /ping", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) {
		writes.WriteLines(w, http.StatusOK, map[string]string{"name": "varve-agent", "status": "pass", "version": a.opts.Version})
	})
	mux.HandleFunc("GET /healthz", a.health)
	mux.HandleFunc("GET /readyz", a.health)
	mux.Handle("GET /metrics", promhttp.HandlerFor(a.metrics.registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		fail(w, r, varve.Errorf(varve.NotFound, "%s: not found: an agent only accepts readings; query the server", r.URL.Path), nil)
	})
	return stall.Handler(a.guard(mux), stall.Limits{Stall: stallLimit, Body: requestLimit})
}

// limited wraps a handler with a limit on concurrent requests. Requests above the limit wait for a slot.
// The time limit of a request begins when it gets a slot.
func limited(slots chan struct{}, handle http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		select {
		case slots <- struct{}{}:
		case <-r.Context().Done():
			return // the client has disconnected
		}
		defer func() { <-slots }()
		ctx, cancel := context.WithTimeout(r.Context(), requestLimit)
		defer cancel()
		handle(w, r.WithContext(ctx))
	}
}

var crossOrigin = http.NewCrossOriginProtection()

// guard checks the origin of a request, and its key or its host. If the agent has keys, every path requires
// a key, except /healthz, /readyz and /ping. Without keys, the host must name this machine. Otherwise a
// page of any site could send requests through a browser on this machine.
func (a *Agent) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		needed := len(a.keys.sums) > 0
		var err error
		switch {
		case !needed && !isOwnHost(r.Host):
			err = &varve.Error{Failure: varve.Forbidden, Param: "header.Host", Message: "not a name of this machine: call the agent as 127.0.0.1 or localhost"}
		case crossOrigin.Check(r) != nil:
			err = &varve.Error{Failure: varve.Forbidden, Message: "a page of another site sent this request: send it from a program"}
		case needed && r.URL.Path != "/healthz" && r.URL.Path != "/readyz" && r.URL.Path != "/ping":
			if _, wrong := a.keys.Check(r.Context(), keyOf(r)); wrong != nil {
				err = &varve.Error{Failure: varve.Forbidden, Err: errNoKey, Message: "this requires a key of http.keys_file: send it in the header Authorization, as Bearer …"}
			}
		}
		if err != nil {
			fail(w, r, err, nil)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func keyOf(r *http.Request) string {
	if linePaths[r.URL.Path] != "" {
		return writes.LineKeyIn(r.Header)
	}
	return writes.KeyIn(r.Header)
}

func isOwnHost(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	ip, err := netip.ParseAddr(strings.Trim(name, "[]"))
	return host == "" || strings.EqualFold(name, "localhost") || err == nil && ip.Unmap().IsLoopback()
}

var errNoKey = errors.New("no valid key")

// fail answers a request that failed, in the format that clients of its path expect.
func fail(w http.ResponseWriter, r *http.Request, err error, tally *wire.Tally) {
	e := writes.BodyProblem(err)
	if e == nil && !errors.As(err, &e) {
		e = &varve.Error{Failure: varve.Unavailable, Message: err.Error()}
	}
	status := writes.StatusOf(e)
	if errors.Is(e.Err, errNoKey) {
		status = http.StatusUnauthorized
		w.Header().Set("WWW-Authenticate", `Bearer realm="varve-agent"`)
	}
	if linePaths[r.URL.Path] != "" {
		writes.FailLines(w, r, e, status)
		return
	}
	p := wire.Problem{Title: http.StatusText(status), Status: status, Detail: e.Message, Tally: tally}
	if e.Param != "" {
		p.Errors = []wire.ProblemDetail{{Location: e.Param, Message: e.Message}}
		p.Detail = e.Param + ": " + e.Message
	}
	if e.Failure == varve.Busy || e.Failure == varve.Unavailable {
		w.Header().Set("Retry-After", strconv.Itoa(max(1, int(e.RetryAfter.Seconds()+0.999))))
	}
	writeJSON(w, "application/problem+json", status, p)
}

func writeJSON(w http.ResponseWriter, media string, status int, body any) {
	text, err := wire.MarshalJSON(body)
	if err != nil {
		status, text = http.StatusInternalServerError, []byte("{}") // impossible, because bodies contain only texts and numbers
	}
	w.Header().Set("Content-Type", media)
	w.WriteHeader(status)
	_, _ = w.Write(append(text, '\n')) // a client that disconnected needs no answer
}

// Health is the body of /healthz and /readyz.
type Health struct {
	Status  string `json:"status" doc:"ok, or failing: the outbox cannot be written"`
	Ready   bool   `json:"ready" doc:"whether the status is ok, as in the answer of a server"`
	Version string `json:"version"`
	Outbox  struct {
		Readings int64 `json:"readings" doc:"that the server has not confirmed"`
		Bytes    int64 `json:"bytes"`
		Kept     int64 `json:"kept_bytes" doc:"of bytes, the part with confirmed readings, which is removed when space is needed"`
		MaxBytes int64 `json:"max_bytes"`
		Dropped  int64 `json:"dropped" doc:"readings that were dropped since the start, because the outbox was full"`
		Damaged  int64 `json:"damaged_bytes"`
	} `json:"outbox"`
	Server struct {
		URL       string `json:"url"`
		LastError string `json:"last_error,omitempty" doc:"of the last attempt, unless it succeeded"`
	} `json:"server"`
}

// health reports the state of the agent. An unreachable server is not a failure of the agent.
func (a *Agent) health(w http.ResponseWriter, _ *http.Request) {
	stats := a.box.Stats()
	h := Health{Status: "ok", Version: a.opts.Version}
	h.Outbox.Readings, h.Outbox.Bytes, h.Outbox.MaxBytes = stats.Readings, stats.Bytes, a.box.MaxBytes()
	h.Outbox.Kept = stats.KeptBytes
	h.Outbox.Dropped, h.Outbox.Damaged = stats.Dropped, stats.DamagedBytes
	h.Server.URL = a.opts.Settings.Server.URL
	if last := a.metrics.lastError.Load(); last != nil {
		h.Server.LastError = *last
	}
	status := http.StatusOK
	if stats.Failed != nil {
		h.Status, status = "failing", http.StatusServiceUnavailable
	}
	h.Ready = stats.Failed == nil
	writeJSON(w, "application/json", status, &h)
}

// quietLog drops the log of the HTTP library, which would record each broken connection.
func quietLog() *log.Logger { return log.New(io.Discard, "", 0) }
